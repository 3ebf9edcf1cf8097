"""Calls `focal_loss` on logits."""

import torch
from probe_tools import absent, gradients, returned

# The file defines the whole model; the loss needs no encoder.
absent("transformers", LongformerModel=torch.nn.Module)

from model import focal_loss  # noqa: E402


def run(case):
    """Return the loss and the gradient of the logits."""
    preds = torch.tensor(case["preds"], dtype=torch.float32, requires_grad=True)
    loss = returned(focal_loss(**case["options"])(preds, torch.tensor(case["labels"])), torch.Tensor, "a tensor is")
    return {"loss": loss.item(), **gradients(loss, {"gradient": preds})}
