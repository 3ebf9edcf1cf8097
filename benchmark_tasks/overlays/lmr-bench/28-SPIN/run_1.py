"""Calls `SPINTrainer.spin_loss` and follows its gradient to the policy's log-probabilities."""

import sys
from types import ModuleType, SimpleNamespace

import torch
from probe_tools import absent, gradients, returned

# The trainer's file imports these, the loss does not use them. The trainer inherits from one class.
absent("accelerate", "datasets", "deepspeed", "peft", "spin.alignment.utils", "trl", "wandb")
absent("transformers", Trainer=type("Trainer", (), {}))
# Without the package's __init__, which imports all of its modules.
package = ModuleType("spin.alignment")
package.__path__ = [f"{sys.path[0]}/spin/alignment"]
sys.modules["spin.alignment"] = package

from spin.alignment.trainer import SPINTrainer  # noqa: E402


def _trainer(settings):
    # Making a real one takes models and data. These are the settings that its __init__ keeps for the loss.
    trainer = object.__new__(SPINTrainer)
    vars(trainer).update(settings)
    trainer.accelerator = SimpleNamespace(device=torch.device("cpu"))
    return trainer


def run(case):
    """Return losses, the gradient of the mean loss, and the rewards unless there is no opponent to measure them by."""
    logps = {name: torch.tensor(values) for name, values in case["logps"].items()}
    policy = {name: values.requires_grad_() for name, values in logps.items() if name.startswith("policy")}
    losses, real_rewards, generated_rewards = returned(
        _trainer(case["settings"]).spin_loss(**logps, **case["options"]), 3, "three tensors are"
    )
    followed = gradients(losses.mean(), policy)
    # Whether rewards without a reference still count the opponent's log-probabilities is not said anywhere.
    rewards = {"real_rewards": real_rewards, "generated_rewards": generated_rewards}
    if case["options"].get("reference_free"):
        rewards = {}
    return {
        "losses": losses.detach().numpy(),
        **{name: values.detach().numpy() for name, values in rewards.items()},
        **{f"gradient_{name}": values for name, values in followed.items()},
    }
