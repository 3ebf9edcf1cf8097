# Wrong: the row itself stays among the negatives, and the row after it is dropped instead.


def info_nce_loss(self, features):
    z, n = F.normalize(features, dim=1), features.shape[0]
    rows = torch.arange(n, device=z.device)
    partner, dropped = (rows + n // 2) % n, (rows + 1 + (n == 2)) % n
    dropped = torch.where(dropped == partner, (rows + 2) % n, dropped)
    sim = z @ z.T / self.args.temperature
    keep = (rows[None] != dropped[:, None]) & (rows[None] != partner[:, None])
    logits = torch.cat((sim[rows, partner].unsqueeze(1), sim[keep].view(n, -1)), dim=1)
    return logits, torch.zeros(n, dtype=torch.long, device=z.device)
