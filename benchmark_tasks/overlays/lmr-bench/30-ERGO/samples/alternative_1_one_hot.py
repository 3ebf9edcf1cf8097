# Right: one-hot labels and an einsum pick the gold class's probability and weight.


def forward(self, preds, labels):
    """Focal loss through one-hot targets."""
    num_classes = preds.size(-1)
    scores = preds.view(-1, num_classes)
    target = F.one_hot(labels.view(-1).long(), num_classes).to(scores.dtype)
    log_probs = torch.log_softmax(scores, dim=1)
    focal = torch.pow(1.0 - log_probs.exp(), self.gamma) * log_probs
    total = -torch.einsum("nc,nc,c->", target, focal, self.alpha.to(scores))
    return total / target.size(0) if self.size_average else total
