# Wrong: the distance to the negative is measured from the parent instead of the child.


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, other = [self.model(item)["sentence_embedding"] for item in sentence_features]
    ball = self.manifold
    cluster_loss = F.relu(ball.dist(child, parent) - ball.dist(parent, other) + self.cluster_loss_margin).mean()
    centri_loss = F.relu(ball.dist0(parent) - ball.dist0(child) + self.centri_loss_margin).mean()
    loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
