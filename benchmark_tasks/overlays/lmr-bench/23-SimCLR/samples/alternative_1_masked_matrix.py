# Right: cosine matrix, the positive picked half a batch away, negatives in ascending order.


def info_nce_loss(self, features):
    """Return temperature-scaled similarities with the positive in column 0, and zero labels."""
    z = F.normalize(features, dim=1)
    total = z.shape[0]
    shift = total // self.args.n_views
    rows = torch.arange(total, device=z.device)
    partner = (rows + shift) % total
    similarity = z @ z.t()
    keep = rows[:, None] % shift != rows[None, :] % shift
    logits = torch.cat([similarity[rows, partner][:, None], similarity[keep].view(total, -1)], dim=1)
    return logits / self.args.temperature, torch.zeros(total, dtype=torch.long, device=z.device)
