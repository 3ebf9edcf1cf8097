import torch


def pooled(states):
    """Mean over the first axis."""
    raise NotImplementedError("not implemented")
