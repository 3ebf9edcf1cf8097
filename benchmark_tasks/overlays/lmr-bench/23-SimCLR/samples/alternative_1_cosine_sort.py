# Right: pairwise F.cosine_similarity; a stable sort of a membership mask brings the positive to the front.
def info_nce_loss(self, features):
    """Sort the columns of each row: positive first, negatives in batch order, the row itself last and cut off."""
    total = features.shape[0]
    image = torch.arange(total, device=features.device) % (total // 2)
    same_image = image[:, None].eq(image[None, :])
    itself = torch.eye(total, dtype=torch.bool, device=features.device)
    group = torch.where(itself, 2, torch.where(same_image, 0, 1))
    order = group.argsort(dim=1, stable=True)[:, :-1]
    similarity = F.cosine_similarity(features[:, None, :], features[None, :, :], dim=2)
    logits = similarity.gather(1, order) / self.args.temperature
    return logits, torch.full((total,), 0, dtype=torch.int64, device=features.device)
