# Right: log-softmax, the log probability gathered at the gold label, then alpha and the focal factor.


def forward(self, preds, labels):
    """Adaptive focal loss of logits against gold labels."""
    logits = preds.reshape(-1, preds.shape[-1])
    gold = labels.reshape(-1).to(device=logits.device, dtype=torch.long)
    log_p = logits.log_softmax(dim=-1).gather(-1, gold[:, None]).squeeze(-1)
    class_weight = self.alpha.to(logits.device)[gold]
    per_pair = -class_weight * (1 - log_p.exp()).pow(self.gamma) * log_p
    if self.size_average:
        return per_pair.mean()
    return per_pair.sum()
