# Right: the Poincaré distance is written out with asinh and the ball's curvature; no geoopt call is made.
def _conformal(x, c):
    return (1 - c * x.square().sum(dim=-1)).clamp_min(1e-15)


def _poincare_distance(x, y, c):
    root = c.sqrt()
    chord = torch.linalg.vector_norm(x - y, dim=-1)
    return 2 / root * torch.asinh(root * chord / torch.sqrt(_conformal(x, c) * _conformal(y, c)))


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    embedded = []
    for tokens in sentence_features:
        embedded.append(self.model(tokens)["sentence_embedding"])
    assert len(embedded) == 3
    e, e_pos, e_neg = embedded

    curvature = torch.as_tensor(self.manifold.c, dtype=e.dtype, device=e.device)
    origin = torch.zeros_like(e)
    gap = _poincare_distance(e, e_pos, curvature) - _poincare_distance(e, e_neg, curvature)
    depth = _poincare_distance(e_pos, origin, curvature) - _poincare_distance(e, origin, curvature)
    parts = {
        "cluster_loss": torch.relu(gap + self.cluster_loss_margin).mean(),
        "centri_loss": torch.relu(depth + self.centri_loss_margin).mean(),
    }
    parts["loss"] = self.cluster_weight * parts["cluster_loss"] + self.centri_weight * parts["centri_loss"]
    return parts
