# Wrong: as in MoCo, the compared features carry no gradient, so only the row's own feature is trained.
def info_nce_loss(self, features):
    """Compare queries with detached keys."""
    queries = F.normalize(features, dim=1)
    keys = queries.detach()
    count = queries.size(0)
    scores = queries.mm(keys.t()) / self.args.temperature
    partner = torch.arange(count, device=features.device).roll(count // 2)
    positive = scores.gather(1, partner[:, None])
    others = torch.ones_like(scores, dtype=torch.bool)
    others.fill_diagonal_(False)
    others.scatter_(1, partner[:, None], False)
    logits = torch.cat([positive, scores[others].view(count, count - 2)], dim=1)
    return logits, torch.zeros(count, dtype=torch.long, device=features.device)
