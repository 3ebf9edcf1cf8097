# Right: distances and norms from the model's Poincare ball, hinge by relu, mean over the triplets.


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    """Weighted sum of the clustering and the centripetal loss over a batch of triplets."""
    embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
    assert len(embeddings) == 3, "expected anchor, positive and negative"
    child, parent, other = embeddings
    ball = self.manifold

    def mean_hinge(violation):
        return F.relu(violation).mean()

    clustering = mean_hinge(ball.dist(child, parent) - ball.dist(child, other) + self.cluster_loss_margin)
    centripetal = mean_hinge(ball.dist0(parent) - ball.dist0(child) + self.centri_loss_margin)
    total = self.cluster_weight * clustering + self.centri_weight * centripetal
    return {"loss": total, "cluster_loss": clustering, "centri_loss": centripetal}
