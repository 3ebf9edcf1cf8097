# Wrong: the probability comes from the alpha-weighted cross-entropy, so alpha distorts the modulator.
def forward(self, preds, labels):
    gold = labels.reshape(-1)
    weighted = F.cross_entropy(preds.reshape(-1, preds.size(-1)), gold, weight=self.alpha.to(preds), reduction="none")
    confidence = torch.exp(-weighted)
    focal = (1 - confidence) ** self.gamma * weighted
    return focal.mean() if self.size_average else focal.sum()
