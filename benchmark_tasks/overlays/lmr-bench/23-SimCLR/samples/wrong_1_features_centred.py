# Wrong: the batch mean is subtracted from the features before they are normalised, so these are not cosines.
def info_nce_loss(self, features):
    """Compare features after standardising the batch."""
    unit = F.normalize(features - features.mean(dim=0, keepdim=True), dim=1)
    count = unit.size(0)
    index = torch.arange(count, device=unit.device)
    partner = index.roll(count // 2).unsqueeze(1)
    scores = torch.matmul(unit, unit.t()).div(self.args.temperature)
    remaining = torch.ones_like(scores).fill_diagonal_(0.0).scatter(1, partner, 0.0).bool()
    logits = torch.cat((scores.gather(1, partner), scores[remaining].reshape(count, -1)), dim=1)
    return logits, index * 0
