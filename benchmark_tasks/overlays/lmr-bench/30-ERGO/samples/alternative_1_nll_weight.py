# Right: F.nll_loss on modulated log-probabilities, weighted by alpha; the mean is over the rows.
def forward(self, preds, labels):
    """Return the alpha-balanced focal loss."""
    rows = preds.reshape(-1, preds.shape[-1])
    gold = labels.reshape(-1).long()
    log_p = F.log_softmax(rows, dim=1)
    focal = (1.0 - log_p.exp()).pow(self.gamma) * log_p
    total = F.nll_loss(focal, gold, weight=self.alpha.to(focal), reduction="sum")
    if not self.size_average:
        return total
    return total / gold.numel()
