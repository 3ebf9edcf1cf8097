"""Calls `HierarchyTransformerLoss` with a model that embeds nothing: its features are the embeddings."""

import sys

import torch
from probe_tools import gradients

sys.path.insert(0, sys.path[0] + "/src")

from hierarchy_transformers import HierarchyTransformer
from hierarchy_transformers.losses import HierarchyTransformerLoss

PARTS = {"cluster_loss": "clustering_loss_weight", "centri_loss": "centripetal_loss_weight"}
"""The reported losses and their weights."""


class Given(torch.nn.Module):
    """Passes on the embeddings that it is given."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def get_word_embedding_dimension(self):
        """Return the dimension, of which the model makes its Poincaré ball."""
        return self.width

    def forward(self, features):
        """Return the features, which hold the sentence embeddings already."""
        return features


def _losses(case, points):
    model = HierarchyTransformer(modules=[Given(points["anchor"].shape[-1])], device="cpu")
    loss = HierarchyTransformerLoss(model, **case["options"])
    features = [{"sentence_embedding": point} for point in points.values()]
    return loss(features, torch.zeros(len(points["anchor"])))


def run(case):
    """Return the losses and the gradient of the combined one.

    The paper adds the triplets' losses up, the repository's other losses take the mean: a sum, which grows when all
    triplets come twice, is divided by their number. Whether a reported part is weighted is open.
    """
    points = {name: torch.tensor(case[name], requires_grad=True) for name in ("anchor", "positive", "negative")}
    losses = _losses(case, points)
    twice = _losses(case, {name: torch.cat([point, point]) for name, point in points.items()})
    means = {
        name: losses[name] / (len(points["anchor"]) if twice[name] > 1.5 * losses[name] else 1)
        for name in ("loss", *PARTS)
    }
    compared = ["loss", *(part for part, weight in PARTS.items() if case["options"].get(weight, 1.0) == 1.0)]
    return {
        **{name: means[name].item() for name in compared},
        "gradients": list(gradients(means["loss"], points).values()),
    }
