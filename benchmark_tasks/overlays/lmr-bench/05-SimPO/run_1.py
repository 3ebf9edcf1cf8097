"""Calls `SimPOTrainer.simpo_loss` and follows its gradient to the policy's log-probabilities."""

from types import SimpleNamespace

import torch
from probe_tools import absent, gradients, returned


class _Parent:
    """Stands for the two classes that the repository's are made from; the trainer wraps the method."""

    push_to_hub = None


# The trainer's file imports these, the loss does not use them.
absent("accelerate", "datasets", "peft", "trl", "wandb")
absent("transformers", Trainer=_Parent, TrainingArguments=_Parent)

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
    losses, chosen_rewards, rejected_rewards = returned(
        _trainer(case["settings"]).simpo_loss(chosen, rejected), 3, "three tensors are"
    )
    followed = gradients(losses.mean(), {"gradient_chosen": chosen, "gradient_rejected": rejected})
    return {
        "losses": losses.detach().numpy(),
        "chosen_rewards": chosen_rewards.detach().numpy(),
        "rejected_rewards": rejected_rewards.detach().numpy(),
        **followed,
    }
