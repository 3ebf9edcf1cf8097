# Right: F.margin_ranking_loss computes both hinges from geoopt's dist and dist0, averaged over the batch.
def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    """Return the weighted HiT loss and its two parts."""
    child, parent, other = (self.model(features)["sentence_embedding"] for features in sentence_features)

    def hinge(larger, smaller, margin):
        return F.margin_ranking_loss(larger, smaller, torch.ones_like(larger), margin=margin, reduction="mean")

    to_parent, to_other = self.manifold.dist(child, parent), self.manifold.dist(child, other)
    clustering = hinge(to_other, to_parent, self.cluster_loss_margin)
    centripetal = hinge(self.manifold.dist0(child), self.manifold.dist0(parent), self.centri_loss_margin)
    return dict(
        loss=clustering * self.cluster_weight + centripetal * self.centri_weight,
        cluster_loss=clustering,
        centri_loss=centripetal,
    )
