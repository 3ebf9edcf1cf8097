"""Calls `preference_loss` and follows its gradient to the policy's log-probabilities."""

import sys
from unittest.mock import MagicMock

import torch

# The trainers' file imports these, the loss does not use them.
for name in ("bs4", "datasets", "tensor_parallel", "transformers", "wandb"):
    sys.modules[name] = MagicMock()

from trainers import preference_loss  # noqa: E402


def run(case):
    """Return losses and rewards of the pairs, and the gradient of the mean loss, which training follows."""
    logps = {name: torch.tensor(values) for name, values in case["logps"].items()}
    policy = {name: values.requires_grad_() for name, values in logps.items() if name.startswith("policy")}
    losses, chosen_rewards, rejected_rewards = preference_loss(**logps, **case["options"])
    losses.mean().backward()
    return {
        "losses": losses.detach().numpy(),
        # The trainer converts rewards like this, too: it fails on rewards that carry a gradient.
        "chosen_rewards": chosen_rewards.numpy(),
        "rejected_rewards": rejected_rewards.numpy(),
        **{f"gradient_{name}": values.grad.numpy() for name, values in policy.items()},
    }
