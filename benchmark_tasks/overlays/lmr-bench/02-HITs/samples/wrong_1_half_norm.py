# Wrong: the norm of logmap0 is only half the hyperbolic norm, so centripetal gaps are halved.
def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, negative = (self.model(f)["sentence_embedding"] for f in sentence_features)
    ball = self.manifold
    cluster = F.relu(ball.dist(child, parent) - ball.dist(child, negative) + self.cluster_loss_margin).mean()
    parent_norm, child_norm = ball.logmap0(parent).norm(dim=-1), ball.logmap0(child).norm(dim=-1)
    centri = F.relu(parent_norm - child_norm + self.centri_loss_margin).mean()
    total = self.cluster_weight * cluster + self.centri_weight * centri
    return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}
