# Right: Equation 1 through geoopt's Moebius addition and artanh, in one call over stacked pairs.


def forward(self, sentence_features: Iterable[dict[str, torch.Tensor]], labels: torch.Tensor):
    """Compute all four hyperbolic distances at once, then both hinge losses."""
    triple = torch.stack([self.model(entry)["sentence_embedding"] for entry in sentence_features])
    anchor, positive, _ = triple
    zero = torch.zeros_like(anchor)
    left = torch.stack((anchor, anchor, anchor, positive))
    right = torch.stack((positive, triple[2], zero, zero))
    root_c = self.manifold.c.to(triple).sqrt()
    gap = self.manifold.mobius_add(-left, right, project=False).norm(dim=-1)
    d_positive, d_negative, norm_child, norm_parent = 2 / root_c * torch.atanh((root_c * gap).clamp(max=1 - 1e-7))
    cluster = torch.relu(self.cluster_loss_margin + d_positive - d_negative)
    centri = torch.relu(self.centri_loss_margin + norm_parent - norm_child)
    cluster_loss, centri_loss = torch.stack((cluster, centri)).mean(dim=-1)
    return {
        "loss": self.cluster_weight * cluster_loss + self.centri_weight * centri_loss,
        "cluster_loss": cluster_loss,
        "centri_loss": centri_loss,
    }
