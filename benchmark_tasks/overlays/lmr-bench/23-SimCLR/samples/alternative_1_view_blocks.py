# Right: splits the two views, and joins cross-view and same-view similarities with the diagonals removed.


def _without_diagonal(square):
    size = square.shape[0]
    return square.flatten()[1:].view(size - 1, size + 1)[:, :-1].reshape(size, size - 1)


def info_nce_loss(self, features):
    """Build the logits of both views from the blocks of the similarity matrix (two views)."""
    first, second = F.normalize(features, p=2.0, dim=-1).chunk(2)
    across = torch.mm(first, second.T)
    positive = across.diagonal().unsqueeze(1)
    cross, cross_back = (_without_diagonal(block) for block in (across, across.T.contiguous()))
    within_first, within_second = (_without_diagonal(torch.mm(view, view.T)) for view in (first, second))
    upper = torch.hstack((positive, within_first, cross))
    lower = torch.hstack((positive, cross_back, within_second))
    logits = torch.vstack((upper, lower)).div(self.args.temperature)
    return logits, torch.zeros(logits.shape[0], dtype=torch.int64, device=logits.device)
