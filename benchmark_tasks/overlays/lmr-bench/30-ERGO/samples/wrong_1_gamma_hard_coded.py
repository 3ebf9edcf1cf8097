# Wrong: the focusing exponent is fixed at 2, so self.gamma has no effect.


def forward(self, preds, labels):
    logits, gold = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
    log_p = F.log_softmax(logits, dim=-1)[torch.arange(len(gold), device=gold.device), gold]
    losses = -self.alpha.to(logits)[gold] * torch.square(1 - log_p.exp()) * log_p
    return losses.mean() if self.size_average else losses.sum()
