# Right: margin_ranking_loss on hyperbolic distances and norms, from geoopt's stereographic functions.
from geoopt.manifolds.stereographic import math as stereographic


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    """Both losses are margin ranking losses, one on distances and one on norms."""
    anchor, positive, negative = map(lambda item: self.model(item)["sentence_embedding"], sentence_features)
    k = self.manifold.k.to(anchor)
    to_positive = stereographic.dist(anchor, positive, k=k)
    to_negative = stereographic.dist(anchor, negative, k=k)
    depth_child = stereographic.dist0(anchor, k=k)
    depth_parent = stereographic.dist0(positive, k=k)
    ones = torch.ones_like(to_positive)
    cluster_loss = F.margin_ranking_loss(to_negative, to_positive, ones, margin=self.cluster_loss_margin)
    centri_loss = F.margin_ranking_loss(depth_child, depth_parent, ones, margin=self.centri_loss_margin)
    weights = (self.cluster_weight, self.centri_weight)
    loss = sum(weight * part for weight, part in zip(weights, (cluster_loss, centri_loss)))
    return dict(loss=loss, cluster_loss=cluster_loss, centri_loss=centri_loss)
