# Wrong: the negative distance is the smaller one from child or parent (a triplet loss with swap).
def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, negative = (self.model(f)["sentence_embedding"] for f in sentence_features)
    ball = self.manifold
    repel = torch.minimum(ball.dist(child, negative), ball.dist(parent, negative))
    cluster = F.relu(ball.dist(child, parent) - repel + self.cluster_loss_margin).mean()
    centri = F.relu(ball.dist0(parent) - ball.dist0(child) + self.centri_loss_margin).mean()
    total = self.cluster_weight * cluster + self.centri_weight * centri
    return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}
