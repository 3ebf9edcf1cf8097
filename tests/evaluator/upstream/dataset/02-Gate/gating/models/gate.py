import torch
from torch import nn


class Gate(nn.Module):
    """Mixes two signals by a learned gate."""

    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, width)

    def forward(self, left, right):
        """Sigmoid of the projection of left, times left, plus the rest of right."""
        raise NotImplementedError("not implemented")

    def extra_repr(self):
        return "gate"
