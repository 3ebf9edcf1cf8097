# Wrong: the focal factor is detached, so the value is right but the gradient lacks a term.


def forward(self, preds, labels):
    logits, gold = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
    log_p = F.log_softmax(logits, dim=-1)[torch.arange(len(gold), device=gold.device), gold]
    factor = (1 - log_p.detach().exp()) ** self.gamma
    losses = -self.alpha.to(logits)[gold] * factor * log_p
    return losses.mean() if self.size_average else losses.sum()
