# Wrong: each hinge is averaged over the triplets that violate the margin only, not over the whole batch.
def _mean_of_active(hinge):
    active = hinge[hinge > 0]
    return active.sum() / max(active.numel(), 1)


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, negative = (self.model(f)["sentence_embedding"] for f in sentence_features)
    ball = self.manifold
    cluster = _mean_of_active(F.relu(ball.dist(child, parent) - ball.dist(child, negative) + self.cluster_loss_margin))
    centri = _mean_of_active(F.relu(ball.dist0(parent) - ball.dist0(child) + self.centri_loss_margin))
    total = self.cluster_weight * cluster + self.centri_weight * centri
    return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}
