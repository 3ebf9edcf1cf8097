# Wrong: every positive class takes the alpha of class 1, so a list with different alphas is not respected.
def forward(self, preds, labels):
    gold = labels.reshape(-1)
    log_pt = F.log_softmax(preds.reshape(-1, preds.size(-1)), dim=-1)[torch.arange(gold.numel()), gold]
    alpha = self.alpha.to(preds)
    balance = torch.where(gold > 0, alpha[1], alpha[0])
    losses = -balance * (1 - log_pt.exp()).pow(self.gamma) * log_pt
    return losses.mean() if self.size_average else losses.sum()
