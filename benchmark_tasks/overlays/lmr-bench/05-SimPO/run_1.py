"""Calls `SimPOTrainer.simpo_loss` and follows its gradient to the policy's log-probabilities."""

import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import torch


class _Parent:
    """Stands for the two classes that the repository's are made from; the trainer wraps the method."""

    push_to_hub = None


# The trainer's file imports these, the loss does not use them.
for name in ("accelerate", "datasets", "peft", "trl.import_utils", "trl.trainer", "trl.trainer.utils", "wandb"):
    sys.modules[name] = MagicMock()
for name in ("transformers.trainer_callback", "transformers.trainer_utils", "transformers.utils"):
    sys.modules[name] = MagicMock()
sys.modules["transformers"] = MagicMock(Trainer=_Parent, TrainingArguments=_Parent)

from scripts.simpo_trainer import SimPOTrainer  # noqa: E402


def _trainer(settings):
    # Making a real one takes a model and data. These are the settings that its __init__ keeps for the loss.
    trainer = object.__new__(SimPOTrainer)
    vars(trainer).update(settings)
    trainer.args = SimpleNamespace(**settings)
    trainer.accelerator = SimpleNamespace(device=torch.device("cpu"))
    return trainer


def run(case):
    """Return losses and rewards of the pairs, and the gradient of the mean loss, which training follows."""
    chosen, rejected = (
        torch.tensor(case[f"policy_{side}_logps"], requires_grad=True) for side in ("chosen", "rejected")
    )
    losses, chosen_rewards, rejected_rewards = _trainer(case["settings"]).simpo_loss(chosen, rejected)
    losses.mean().backward()
    return {
        "losses": losses.detach().numpy(),
        "chosen_rewards": chosen_rewards.detach().numpy(),
        "rejected_rewards": rejected_rewards.detach().numpy(),
        "gradient_chosen": chosen.grad.numpy(),
        "gradient_rejected": rejected.grad.numpy(),
    }
