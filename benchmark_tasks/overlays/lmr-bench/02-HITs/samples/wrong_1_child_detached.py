# Wrong: the child's norm carries no gradient in the centripetal loss, so children are not pushed outwards.
def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    child, parent, negative = (self.model(f)["sentence_embedding"] for f in sentence_features)
    ball = self.manifold
    cluster = F.relu(ball.dist(child, parent) - ball.dist(child, negative) + self.cluster_loss_margin).mean()
    centri = F.relu(ball.dist0(parent) - ball.dist0(child).detach() + self.centri_loss_margin).mean()
    total = self.cluster_weight * cluster + self.centri_weight * centri
    return {"loss": total, "cluster_loss": cluster, "centri_loss": centri}
