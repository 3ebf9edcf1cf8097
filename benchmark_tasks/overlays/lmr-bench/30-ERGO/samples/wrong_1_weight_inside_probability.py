# Wrong: the probability is recovered from the alpha-weighted cross entropy, so the focal factor is off.


def forward(self, preds, labels):
    logits, gold = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
    weighted_ce = F.cross_entropy(logits, gold, weight=self.alpha.to(logits), reduction="none")
    losses = (1 - torch.exp(-weighted_ce)) ** self.gamma * weighted_ce
    return losses.mean() if self.size_average else losses.sum()
