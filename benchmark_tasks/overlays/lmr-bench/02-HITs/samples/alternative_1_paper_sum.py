# Right: both hinges are summed over the batch, as equations 3 and 4 say, on stacked embeddings.
def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    batch = torch.stack([self.model(feature)["sentence_embedding"] for feature in sentence_features])
    anchors, candidates = batch[:1], batch[1:]
    near, far = self.manifold.dist(anchors, candidates).unbind(0)
    child_norm, parent_norm, _ = self.manifold.dist0(batch).unbind(0)
    cluster = (near - far + self.cluster_loss_margin).clamp(min=0.0).sum()
    centri = (parent_norm - child_norm + self.centri_loss_margin).clamp(min=0.0).sum()
    weights = torch.tensor([self.cluster_weight, self.centri_weight], dtype=batch.dtype, device=batch.device)
    total = torch.dot(weights, torch.stack([cluster, centri]))
    return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}
