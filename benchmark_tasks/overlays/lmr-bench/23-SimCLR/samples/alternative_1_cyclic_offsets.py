# Right: every row reads its partners by cyclic offset, first the other view, then all other offsets.
def info_nce_loss(self, features):
    """Gather similarities at offset B (the positive) and at every other non-zero offset."""
    unit = F.normalize(features, p=2, dim=-1)
    count = unit.size(0)
    half = count // 2
    steps = torch.tensor([half] + [k for k in range(1, count) if k != half], device=unit.device)
    own = torch.arange(count, device=unit.device)
    partners = own.unsqueeze(1).add(steps).remainder(count)
    scores = torch.einsum("nd,md->nm", unit, unit)
    logits = torch.take_along_dim(scores, partners, dim=1) / self.args.temperature
    return logits, torch.zeros_like(own)
