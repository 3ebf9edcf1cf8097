"""Calls `preference_loss` and follows its gradient to the policy's log-probabilities."""

import torch
from probe_tools import absent, gradients, returned, without_gradient

# The trainers' file imports these, the loss does not use them.
absent("bs4", "datasets", "tensor_parallel", "transformers", "wandb")

from trainers import preference_loss  # noqa: E402


def run(case):
    """Return losses and rewards of the pairs, and the gradient of the mean loss, which training follows."""
    logps = {name: torch.tensor(values) for name, values in case["logps"].items()}
    policy = {name: values.requires_grad_() for name, values in logps.items() if name.startswith("policy")}
    losses, chosen_rewards, rejected_rewards = returned(
        preference_loss(**logps, **case["options"]), 3, "three tensors are"
    )
    followed = gradients(losses.mean(), policy)
    return {
        "losses": losses.detach().numpy(),
        # The trainer converts rewards to NumPy, which fails on rewards that carry a gradient.
        "chosen_rewards": without_gradient(chosen_rewards),
        "rejected_rewards": without_gradient(rejected_rewards),
        **{f"gradient_{name}": values for name, values in followed.items()},
    }
