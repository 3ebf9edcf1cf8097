import torch
from torch import nn


class RootNorm(nn.Module):
    """Divides by the root of the mean square along the last axis and multiplies by a learned weight."""

    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
