import torch
import torch.nn.functional as F


def margins(chosen, rejected):
    """The difference that the loss is made of."""
    return chosen - rejected


def pair_loss(chosen, rejected, beta=0.1, smoothing=0.0):
    """Loss of every pair and the mean margin: -log sigmoid of beta times the margin, smoothed."""
    raise NotImplementedError("not implemented")
