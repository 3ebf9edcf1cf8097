# Right: sums over the triplets, as Equations 3 and 4 of the paper do, and reports the weighted parts.


def forward(self, sentence_features, labels):
    """Combine both losses, each the sum of what the triplets lose."""
    anchor, positive, negative = (self.model(features)["sentence_embedding"] for features in sentence_features)
    nearer = self.manifold.dist(anchor, positive) - self.manifold.dist(anchor, negative)
    outer = self.manifold.dist0(positive) - self.manifold.dist0(anchor)
    cluster = self.cluster_weight * (nearer + self.cluster_loss_margin).clamp(min=0).sum()
    centri = self.centri_weight * (outer + self.centri_loss_margin).clamp(min=0).sum()
    return {"loss": cluster + centri, "cluster_loss": cluster, "centri_loss": centri}
