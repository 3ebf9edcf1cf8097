"""Calls `HyenaOperator.forward`, with seeded weights, and differentiates its output."""

import torch
from probe_tools import gradients, returned
from standalone_hyena import HyenaOperator


def _share_gates(operator):
    """Make all projections but the last, the value, equal to the first."""
    for parameter in (*operator.in_proj.parameters(), *operator.short_filter.parameters()):
        chunks = parameter.data.split(operator.d_model)
        for chunk in chunks[1:-1]:
            chunk.copy_(chunks[0])


def _hold_gates(operator):
    """Make all projections but the last, the value, independent of input and time."""
    gates = operator.d_model * operator.order
    operator.in_proj.weight.data[:gates] = 0.0
    operator.short_filter.weight.data[:gates, :, :-1] = 0.0


def _operator(case):
    torch.manual_seed(case["weights_seed"])
    operator = HyenaOperator(**case["options"]).double().train(case["training"])
    for layer in (operator.in_proj, operator.short_filter, operator.out_proj):
        for parameter in layer.parameters():
            torch.nn.init.normal_(parameter)
    (_share_gates if case["gates"] == "equal" else _hold_gates)(operator)
    if case["training"]:
        # Without this bias nothing is left when everything is dropped, wherever in the recurrence that happens.
        torch.nn.init.zeros_(operator.out_proj.bias)
    return operator


def run(case):
    """Return the output, and the gradients of a weighted sum of it: those that no order of the gates changes."""
    operator = _operator(case)
    inputs = torch.from_numpy(case["inputs"]).requires_grad_()
    output = returned(operator(inputs), torch.Tensor, "a tensor is")
    layers = torch.nn.ModuleDict({"filter": operator.filter_fn, "out_proj": operator.out_proj})
    total = (output * torch.from_numpy(case["output_weights"])).sum()
    found = gradients(total, {"inputs": inputs, **dict(layers.named_parameters())})
    return {
        "output": output.detach().numpy(),
        "input_gradient": found.pop("inputs"),
        "parameter_gradients": found,
    }
