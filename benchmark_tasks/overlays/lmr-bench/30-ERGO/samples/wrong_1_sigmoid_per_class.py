# Wrong: the gold probability is a sigmoid of its own logit instead of a softmax over the classes.


def forward(self, preds, labels):
    logits, gold = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
    log_p = F.logsigmoid(logits)[torch.arange(len(gold), device=gold.device), gold]
    losses = -self.alpha.to(logits)[gold] * (1 - log_p.exp()) ** self.gamma * log_p
    return losses.mean() if self.size_average else losses.sum()
