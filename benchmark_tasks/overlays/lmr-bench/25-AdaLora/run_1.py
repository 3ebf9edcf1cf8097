"""Calls an `SVDLinear` with given weights in training and in evaluation."""

import sys

import torch
from probe_tools import gradients

sys.path.insert(0, sys.path[0] + "/loralib")

from loralib import SVDLinear


def _layer(case):
    outputs, inputs = case["weight"].shape
    layer = SVDLinear(inputs, outputs, r=case["r"], bias=case["bias"] is not None, **case["options"]).double()
    weight = torch.tensor(case["weight"])
    given = {"weight": weight.T if layer.fan_in_fan_out else weight, **case["adapter"]}
    if case["bias"] is not None:
        given["bias"] = case["bias"]
    with torch.no_grad():
        for name, value in given.items():
            getattr(layer, name).copy_(torch.as_tensor(value))
    return layer


def _step(layer, case, mode):
    """Outputs in one mode, gradients, and the weight, which the call must leave as it is."""
    layer.train() if mode == "train" else layer.eval()
    # Dropout draws once, for the input.
    torch.manual_seed(case["torch_seed"])
    x = torch.tensor(case["x"], requires_grad=True)
    result = layer(x)
    wanted = {"x": x, **{name: value for name, value in layer.named_parameters() if value.requires_grad}}
    total = (result * torch.tensor(case["output_gradient"])).sum()
    return {
        "outputs": result.detach().numpy(),
        "gradients": gradients(total, wanted),
        "weight": layer.weight.detach().numpy().copy(),
    }


def run(case):
    """Return what comes out of one layer in each mode in turn."""
    layer = _layer(case)
    steps = [_step(layer, case, mode) for mode in case["modes"]]
    return {name: [step[name] for step in steps] for name in steps[0]}
