"""Calls `SimCLR.info_nce_loss` and follows the gradient of the loss to the features."""

from types import SimpleNamespace

import torch
from probe_tools import absent, gradients, returned

# The training loop writes to TensorBoard, the loss does not.
absent("torch.utils.tensorboard")

from simclr import SimCLR  # noqa: E402


def run(case):
    """Return positives, negatives in ascending order, labels, the loss as training computes it, and its gradient."""
    # Making a real one opens log files. The loss only needs the arguments.
    simclr = object.__new__(SimCLR)
    simclr.args = SimpleNamespace(
        batch_size=len(case["features"]) // 2,
        n_views=2,
        temperature=case["temperature"],
        device=torch.device("cpu"),
    )
    features = torch.tensor(case["features"], requires_grad=True)
    logits, labels = returned(simclr.info_nce_loss(features), 2, "logits and labels are")
    loss = torch.nn.functional.cross_entropy(logits, labels)
    gradient = torch.from_numpy(gradients(loss, {"features": features})["features"])
    # Features are normalised already, says the docstring: whether they are normalised once more only changes the
    # gradient's part along them.
    unit = features.detach()
    tangential = gradient - (gradient * unit).sum(dim=1, keepdim=True) * unit
    return {
        "positives": logits[:, 0].detach().numpy(),
        # Only the place of the positive is defined.
        "negatives": logits[:, 1:].detach().sort(dim=1).values.numpy(),
        "labels": labels.numpy(),
        "loss": loss.item(),
        "gradient": tangential.numpy(),
    }
