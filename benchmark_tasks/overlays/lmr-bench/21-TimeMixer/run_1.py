"""Calls `MultiScaleSeasonMixing` with weights of the probe's own."""

import torch
from models.TimeMixer import MultiScaleSeasonMixing
from probe_tools import gradients, returned


def _set_weights(layer, by_sizes):
    """Give a layer the weights of its input and output size; all hidden units alike, so that any number will do."""
    first, last = (module for module in layer.modules() if isinstance(module, torch.nn.Linear))
    weights = by_sizes[first.in_features, last.out_features]
    with torch.no_grad():
        first.weight.copy_(weights["first_weight"].expand_as(first.weight))
        first.bias.copy_(weights["first_bias"].expand_as(first.bias))
        last.weight.copy_((weights["last_weight"][:, None] / last.in_features).expand_as(last.weight))
        last.bias.copy_(weights["last_bias"])


def run(case):
    """Return the mixed parts, and the gradients of a weighted sum of them."""
    by_sizes = {
        (len(weights["first_weight"]), len(weights["last_weight"])): {
            name: torch.tensor(value) for name, value in weights.items()
        }
        for weights in case["weights"]
    }
    mixing = MultiScaleSeasonMixing(**case["arguments"]).double()
    for layer in mixing.down_sampling_layers:
        _set_weights(layer, by_sizes)
    parts = [torch.tensor(part, requires_grad=True) for part in case["parts"]]
    mixed = returned(mixing(list(parts)), (list, tuple), "a list of tensors is")
    total = sum((part * torch.tensor(outer)).sum() for part, outer in zip(mixed, case["outer"], strict=True))
    return {
        "mixed": [part.detach().numpy() for part in mixed],
        "gradients": list(gradients(total, dict(enumerate(parts))).values()),
        "layers": len(mixing.down_sampling_layers),
    }
