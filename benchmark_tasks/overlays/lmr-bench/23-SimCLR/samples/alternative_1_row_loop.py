# Right: a loop over the rows with cosine_similarity; every row puts its positive before its negatives.


def info_nce_loss(self, features):
    """Plain loop: one row of similarities per view of an image."""
    total = features.shape[0]
    half = total // 2
    lines = []
    for index in range(total):
        cosine = F.cosine_similarity(features[index : index + 1], features, dim=1)
        mate = index + half if index < half else index - half
        rest = [other for other in range(total) if other not in (index, mate)]
        lines.append(cosine[[mate] + rest])
    logits = torch.stack(lines) / self.args.temperature
    labels = torch.full((total,), 0, dtype=torch.long).to(features.device)
    return logits, labels
