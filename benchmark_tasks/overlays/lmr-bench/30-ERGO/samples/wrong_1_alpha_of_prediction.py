# Wrong: the class weight is looked up by the predicted class instead of the gold label.


def forward(self, preds, labels):
    logits, gold = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
    log_p = F.log_softmax(logits, dim=-1)[torch.arange(len(gold), device=gold.device), gold]
    losses = -self.alpha.to(logits)[logits.argmax(dim=-1)] * (1 - log_p.exp()) ** self.gamma * log_p
    return losses.mean() if self.size_average else losses.sum()
