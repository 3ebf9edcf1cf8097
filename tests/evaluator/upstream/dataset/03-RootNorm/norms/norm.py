import torch
from torch import nn


class RootNorm(nn.Module):
    """Divides by the root of the mean square along the last axis and multiplies by a learned weight.

    RootNorm(width, eps=1e-6); the weight starts with ones and is called weight.
    """

    def __init__(self, width, eps=1e-6):
        raise NotImplementedError("not implemented")
