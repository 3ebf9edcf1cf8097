# Right: the views are compared in blocks; negatives of the other view come before those of the same view.
def off_diagonal(square):
    """Drop the diagonal of a (b, b) matrix and return (b, b - 1)."""
    size = square.size(0)
    keep = torch.ones(size, size, device=square.device).triu(1) + torch.ones(size, size, device=square.device).tril(-1)
    return square.masked_select(keep.bool()).reshape(size, size - 1)


def info_nce_loss(self, features):
    """Build the logits of each view from its three blocks."""
    first, second = (features / features.norm(dim=1, keepdim=True).clamp_min(1e-12)).chunk(2, dim=0)
    cross = first.matmul(second.t())
    match = cross.diagonal().unsqueeze(1)
    upper = torch.hstack((match, off_diagonal(cross), off_diagonal(first.matmul(first.t()))))
    lower = torch.hstack((match, off_diagonal(cross.t()), off_diagonal(second.matmul(second.t()))))
    logits = torch.vstack((upper, lower)).div(self.args.temperature)
    labels = logits.new_zeros(logits.size(0)).long()
    return logits, labels
