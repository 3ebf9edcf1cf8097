"""Calls `tdpo_loss` and follows its gradient to the margins and divergences, which depend on the policy."""

import sys
from unittest.mock import MagicMock

import torch

# The trainers' file imports these, the loss does not use them.
for name in ("bs4", "datasets", "tensor_parallel", "transformers", "wandb"):
    sys.modules[name] = MagicMock()

from trainers import tdpo_loss  # noqa: E402


def _gradient(values):
    # No gradient and a gradient of zero train alike.
    return (torch.zeros_like(values) if values.grad is None else values.grad).numpy()


def run(case):
    """Return losses, the gradient of the mean loss, and the rewards of responses that have no divergence."""
    arguments = {name: torch.tensor(values, requires_grad=True) for name, values in case["inputs"].items()}
    losses, chosen_rewards, rejected_rewards = tdpo_loss(**arguments, **case["options"])
    losses.mean().backward()
    # The trainer converts rewards like this, too: it fails on rewards that carry a gradient.
    rewards = {"chosen": chosen_rewards.numpy(), "rejected": rejected_rewards.numpy()}
    return {
        "losses": losses.detach().numpy(),
        **{f"{side}_rewards": values[case["inputs"][f"{side}_position_kl"] == 0] for side, values in rewards.items()},
        **{f"gradient_{name}": _gradient(values) for name, values in arguments.items()},
    }
