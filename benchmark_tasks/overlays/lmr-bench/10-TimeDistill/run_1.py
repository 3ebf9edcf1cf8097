"""Calls `multi_scale_process_inputs` and differentiates through it."""

import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import torch

# The file imports data sets, models and measurements that the goal does not need.
for module in (
    *("data_provider", "data_provider.data_factory", "layers", "layers.Autoformer_EncDec"),
    *("models", "psutil", "utils", "utils.metrics", "utils.tools"),
):
    sys.modules[module] = MagicMock()
sys.modules["exp.exp_basic"] = SimpleNamespace(Exp_Basic=object)

from exp.exp_long_term_forecasting import multi_scale_process_inputs  # noqa: E402


def run(case):
    """Return the series at every scale, and the gradient of a weighted sum of them."""
    series = torch.tensor(case["series"], requires_grad=True)
    scales = multi_scale_process_inputs(**case["options"])(series)
    torch.manual_seed(case["weight_seed"])
    sum((scale * torch.rand(scale.shape, dtype=scale.dtype)).sum() for scale in scales).backward()
    return {"scales": [scale.detach().numpy() for scale in scales], "gradient": series.grad.numpy()}
