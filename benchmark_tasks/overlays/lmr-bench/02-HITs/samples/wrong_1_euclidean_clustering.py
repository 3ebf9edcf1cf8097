# Wrong: the clustering loss uses Euclidean distances instead of distances in the Poincare ball.


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, other = [self.model(item)["sentence_embedding"] for item in sentence_features]
    ball = self.manifold
    near, far = (child - parent).norm(dim=-1), (child - other).norm(dim=-1)
    cluster_loss = F.relu(near - far + self.cluster_loss_margin).mean()
    centri_loss = F.relu(ball.dist0(parent) - ball.dist0(child) + self.centri_loss_margin).mean()
    loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
