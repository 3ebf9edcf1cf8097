# Wrong: the largest logit of each column is subtracted instead of that of each row, which changes the loss.
def info_nce_loss(self, features):
    """Subtract a maximum before the logits are returned."""
    unit = F.normalize(features, dim=1)
    count = unit.size(0)
    index = torch.arange(count, device=unit.device)
    scores = unit.matmul(unit.t()) / self.args.temperature
    partner = (index + count // 2) % count
    blocked = torch.eye(count, dtype=torch.bool, device=unit.device)
    blocked[index, partner] = True
    logits = torch.cat((scores[index, partner][:, None], scores[~blocked].view(count, count - 2)), dim=1)
    logits = logits - logits.amax(dim=0, keepdim=True).detach()
    return logits, torch.zeros_like(index)
