import torch
from torch.optim.optimizer import Optimizer


class SignMomentum(Optimizer):
    """Steps by the sign of a running mean of gradients."""

    def __init__(self, params, lr=1e-3, beta=0.9):
        super().__init__(params, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure=None):
        """mean = beta * mean + (1 - beta) * gradient (from zeros); parameter -= lr * sign(mean), in place."""
        raise NotImplementedError("not implemented")
