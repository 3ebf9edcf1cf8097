import torch


def decayed(weights, rate):
    """Weight i times rate to the power of i."""
    return weights * rate ** torch.arange(len(weights))
