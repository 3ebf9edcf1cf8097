# Right: the hyperbolic distance in its asinh form with the ball's curvature, and no call into geoopt.


def _poincare_distance(u, v, c):
    """Distance 2/sqrt(c) * asinh(sqrt(c) |u - v| / sqrt((1 - c|u|^2)(1 - c|v|^2)))."""
    root = c.sqrt()
    conformal = (1 - c * u.square().sum(-1)) * (1 - c * v.square().sum(-1))
    ratio = root * torch.linalg.vector_norm(u - v, dim=-1) / conformal.clamp_min(1e-12).sqrt()
    return 2 / root * torch.asinh(ratio)


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    """Equations 3 to 5 written out, averaged over the batch."""
    encoded = (self.model(features)["sentence_embedding"] for features in sentence_features)
    anchor, positive, negative = encoded
    curvature = torch.as_tensor(self.manifold.c, dtype=anchor.dtype, device=anchor.device)
    origin = torch.zeros_like(anchor)
    closer = _poincare_distance(anchor, positive, curvature) - _poincare_distance(anchor, negative, curvature)
    inward = _poincare_distance(positive, origin, curvature) - _poincare_distance(anchor, origin, curvature)
    losses = {
        "cluster_loss": torch.clamp(closer + self.cluster_loss_margin, min=0).mean(),
        "centri_loss": torch.clamp(inward + self.centri_loss_margin, min=0).mean(),
    }
    losses["loss"] = losses["cluster_loss"] * self.cluster_weight + losses["centri_loss"] * self.centri_weight
    return losses
