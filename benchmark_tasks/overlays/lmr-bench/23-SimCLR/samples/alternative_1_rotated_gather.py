# Right: gathers columns cyclically from the positive onwards, so the negatives come in rotated order.


def info_nce_loss(self, features):
    """Start each row at its positive and walk on cyclically, skipping views of the same image."""
    total = features.size(0)
    images = total // self.args.n_views
    unit = features / features.norm(dim=1, keepdim=True).clamp_min(1e-12)
    scores = torch.einsum("id,jd->ij", unit, unit) / self.args.temperature
    steps = torch.tensor([images] + [s for s in range(1, total) if s % images], device=scores.device)
    columns = (torch.arange(total, device=scores.device).unsqueeze(1) + steps) % total
    labels = scores.new_zeros(total).long()
    return scores.gather(1, columns), labels
