# Wrong: the rows of the second view repeat those of the first, so only one direction is computed.


def info_nce_loss(self, features):
    z, n = F.normalize(features, dim=1), features.shape[0]
    rows = torch.arange(n, device=z.device)
    anchor = rows % (n // 2)
    partner = anchor + n // 2
    sim = (z @ z.T / self.args.temperature)[anchor]
    keep = (rows[None] != anchor[:, None]) & (rows[None] != partner[:, None])
    logits = torch.cat((sim[rows, partner].unsqueeze(1), sim[keep].view(n, -1)), dim=1)
    return logits, torch.zeros(n, dtype=torch.long, device=z.device)
