# Wrong: the factor 1/sqrt(c) of the hyperbolic distance is left out.


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, other = [self.model(item)["sentence_embedding"] for item in sentence_features]
    ball, root = self.manifold, self.manifold.c.sqrt().to(child)
    near, far = root * ball.dist(child, parent), root * ball.dist(child, other)
    cluster_loss = F.relu(near - far + self.cluster_loss_margin).mean()
    centri_loss = F.relu(root * (ball.dist0(parent) - ball.dist0(child)) + self.centri_loss_margin).mean()
    loss = self.cluster_weight * cluster_loss + self.centri_weight * centri_loss
    return {"loss": loss, "cluster_loss": cluster_loss, "centri_loss": centri_loss}
