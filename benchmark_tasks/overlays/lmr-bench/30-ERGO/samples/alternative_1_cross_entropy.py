# Right: unreduced cross entropy, from which the probability and both factors are derived.


def forward(self, preds, labels):
    """Weight the cross entropy of every pair by alpha and by its difficulty."""
    flat_labels = labels.flatten().long()
    ce = F.cross_entropy(preds.flatten(end_dim=-2), flat_labels, reduction="none")
    difficulty = -torch.expm1(-ce)
    balance = torch.index_select(self.alpha.to(ce), 0, flat_labels)
    weighted = balance * difficulty**self.gamma * ce
    reduce = torch.mean if self.size_average else torch.sum
    return reduce(weighted)
