# Wrong: the offsets of the negatives start at zero, so each row meets itself and misses its last neighbour.
def info_nce_loss(self, features):
    """Gather the positive and the negatives by cyclic offset."""
    unit = F.normalize(features, dim=1)
    count = unit.size(0)
    half = count // 2
    steps = torch.tensor([half] + [k for k in range(count - 1) if k != half][: count - 2], device=unit.device)
    rows = torch.arange(count, device=unit.device)
    partners = (rows[:, None] + steps[None, :]) % count
    logits = (unit @ unit.t()).gather(1, partners) / self.args.temperature
    return logits, torch.zeros_like(rows)
