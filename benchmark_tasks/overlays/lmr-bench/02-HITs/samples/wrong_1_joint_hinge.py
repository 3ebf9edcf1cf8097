# Wrong: the combined loss cuts the weighted sum of both terms at zero once instead of cutting each term.
def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, negative = (self.model(f)["sentence_embedding"] for f in sentence_features)
    ball = self.manifold
    spread = ball.dist(child, parent) - ball.dist(child, negative) + self.cluster_loss_margin
    height = ball.dist0(parent) - ball.dist0(child) + self.centri_loss_margin
    joint = F.relu(self.cluster_weight * spread + self.centri_weight * height)
    return {"loss": joint.mean(), "cluster_loss": F.relu(spread).mean(), "centri_loss": F.relu(height).mean()}
