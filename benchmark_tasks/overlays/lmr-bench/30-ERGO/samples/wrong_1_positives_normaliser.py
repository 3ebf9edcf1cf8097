# Wrong: the average divides by the number of positive labels instead of the number of all event pairs.
def forward(self, preds, labels):
    gold = labels.reshape(-1)
    ce = F.cross_entropy(preds.reshape(-1, preds.size(-1)), gold, reduction="none")
    summed = (self.alpha.to(preds)[gold] * (1 - torch.exp(-ce)) ** self.gamma * ce).sum()
    if self.size_average:
        summed = summed / (gold > 0).sum().clamp(min=1)
    return summed
