# Wrong: the positives are repeated pair by pair, although all first views stand before all second ones.
def info_nce_loss(self, features):
    """Take the positives from the diagonal at offset B."""
    unit = F.normalize(features, dim=1)
    count = unit.size(0)
    half = count // 2
    scores = unit @ unit.t() / self.args.temperature
    positive = torch.diagonal(scores, offset=half).repeat_interleave(2).unsqueeze(1)
    index = torch.arange(count, device=scores.device)
    negative_mask = (index[:, None] - index[None, :]).remainder(half) != 0
    negatives = scores[negative_mask].view(count, count - 2)
    return torch.cat((positive, negatives), dim=1), index.new_zeros(count)
