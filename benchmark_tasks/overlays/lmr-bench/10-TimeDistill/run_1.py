"""Calls `multi_scale_process_inputs` and differentiates through it."""

import sys
from types import SimpleNamespace

import torch
from probe_tools import absent, gradients, returned

# The file imports data sets, models and measurements that the goal does not need.
absent("data_provider", "layers", "models", "psutil", "utils")
sys.modules["exp.exp_basic"] = SimpleNamespace(Exp_Basic=object)

from exp.exp_long_term_forecasting import multi_scale_process_inputs  # noqa: E402


def run(case):
    """Return the series at every scale, and the gradient of a weighted sum of them."""
    series = torch.tensor(case["series"], requires_grad=True)
    scales = returned(multi_scale_process_inputs(**case["options"])(series), (list, tuple), "a list of tensors is")
    torch.manual_seed(case["weight_seed"])
    total = sum((scale * torch.rand(scale.shape, dtype=scale.dtype)).sum() for scale in scales)
    return {"scales": [scale.detach().numpy() for scale in scales], **gradients(total, {"gradient": series})}
