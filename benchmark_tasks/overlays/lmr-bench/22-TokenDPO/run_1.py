"""Calls `tdpo_loss` and follows its gradient to the margins and divergences, which depend on the policy."""

import torch
from probe_tools import absent, gradients, returned, without_gradient

# The trainers' file imports these, the loss does not use them.
absent("bs4", "datasets", "tensor_parallel", "transformers", "wandb")

from trainers import tdpo_loss  # noqa: E402


def _compared(rewards, divergence):
    """Rewards of the responses without divergence; what carries a gradient is named instead."""
    array = without_gradient(rewards)
    return array if isinstance(array, str) else array[divergence == 0]


def run(case):
    """Return losses, the gradient of the mean loss, and the rewards of responses that have no divergence."""
    arguments = {name: torch.tensor(values, requires_grad=True) for name, values in case["inputs"].items()}
    losses, chosen_rewards, rejected_rewards = returned(
        tdpo_loss(**arguments, **case["options"]), 3, "three tensors are"
    )
    followed = gradients(losses.mean(), arguments)
    return {
        "losses": losses.detach().numpy(),
        # The trainer converts rewards to NumPy, which fails on rewards that carry a gradient.
        "chosen_rewards": _compared(chosen_rewards, case["inputs"]["chosen_position_kl"]),
        "rejected_rewards": _compared(rejected_rewards, case["inputs"]["rejected_position_kl"]),
        **{f"gradient_{name}": values for name, values in followed.items()},
    }
