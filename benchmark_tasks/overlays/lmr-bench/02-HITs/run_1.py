"""Calls `HierarchyTransformerLoss` with a model that embeds nothing: its features are the embeddings."""

import sys

import torch
from probe_tools import gradients

sys.path.insert(0, sys.path[0] + "/src")

from hierarchy_transformers import HierarchyTransformer
from hierarchy_transformers.losses import HierarchyTransformerLoss


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


def run(case):
    """Return the three losses and the gradient of the combined one."""
    points = {name: torch.tensor(case[name], requires_grad=True) for name in ("anchor", "positive", "negative")}
    model = HierarchyTransformer(modules=[Given(points["anchor"].shape[-1])], device="cpu")
    loss = HierarchyTransformerLoss(model, **case["options"])
    losses = loss([{"sentence_embedding": point} for point in points.values()], torch.zeros(len(points["anchor"])))
    return {
        **{name: losses[name].item() for name in ("loss", "cluster_loss", "centri_loss")},
        "gradients": list(gradients(losses["loss"], points).values()),
    }
