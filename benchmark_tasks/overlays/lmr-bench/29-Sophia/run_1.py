"""Calls `SophiaG.step` several times with given gradients or a closure, and `update_hessian` in between."""

from contextlib import nullcontext
from unittest import mock

import torch
from sophia import SophiaG
from torch.optim import Optimizer

# Only for PyTorch's compiler are these methods wrapped, and importing it would take longer than all the cases.
for name in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
    setattr(Optimizer, name, getattr(Optimizer, name).__wrapped__)


def _on_device(case):
    """What a capturable optimizer needs: tensors for learning rate and batch size, and all of them on a GPU."""
    if not case["options"].get("capturable"):
        return case, nullcontext()
    options = {**case["options"], "lr": torch.tensor(case["options"]["lr"], dtype=torch.float64)}
    capturable = {**case, "options": options, "batch_size": torch.tensor(float(case["batch_size"]))}
    return capturable, mock.patch.object(torch.Tensor, "is_cuda", True)


def _optimizer(groups, options):
    return SophiaG([{"params": group["parameters"], **group["options"]} for group in groups], **options)


def _set_gradients(groups, gradients):
    for group, by_parameter in zip(groups, gradients, strict=True):
        for parameter, gradient in zip(group["parameters"], by_parameter, strict=True):
            parameter.grad = None if gradient is None else torch.from_numpy(gradient)


def _closure_of(case, optimizer, groups):
    """A closure that computes the gradients of a squared error, or None for a case with given gradients."""
    if "features" not in case:
        return None
    weights, offset = groups[0]["parameters"]

    def closure():
        optimizer.zero_grad()
        predicted = torch.from_numpy(case["features"]) @ weights + offset
        loss = (predicted - torch.from_numpy(case["targets"])).square().mean()
        loss.backward()
        return loss

    return closure


def _states(optimizer, parameters):
    """Step (of any shape with one element), averaged gradient and Hessian of each parameter with a gradient."""
    states = [optimizer.state[parameter] for parameter in parameters if parameter.grad is not None]
    return {
        "steps": [float(state["step"]) for state in states],
        "averages": [state["exp_avg"].detach().numpy().copy() for state in states],
        "hessians": [state["hessian"].detach().numpy().copy() for state in states],
    }


def _take_steps(case):
    groups = [
        {**group, "parameters": [torch.nn.Parameter(torch.from_numpy(value)) for value in group["parameters"]]}
        for group in case["groups"]
    ]
    parameters = [parameter for group in groups for parameter in group["parameters"]]
    batch_size = {} if case["batch_size"] is None else {"bs": case["batch_size"]}
    optimizer = _optimizer(groups, case["options"])
    outputs = {"losses": [], "parameters": [], "states": []}
    for number, step in enumerate(case["steps"]):
        if number == case["resume_after"]:
            saved = optimizer.state_dict()
            optimizer = _optimizer(groups, {})
            optimizer.load_state_dict(saved)
        if step["hessian_gradients"] is not None:
            _set_gradients(groups, step["hessian_gradients"])
            optimizer.update_hessian()
        _set_gradients(groups, step["gradients"])
        loss = optimizer.step(_closure_of(case, optimizer, groups), **batch_size)
        outputs["losses"].append(None if loss is None else torch.as_tensor(loss).item())
        outputs["parameters"].append([parameter.detach().numpy().copy() for parameter in parameters])
        outputs["states"].append(_states(optimizer, parameters))
    return outputs


def run(case):
    """Return loss, parameters and the optimizer's state after each step."""
    case, device = _on_device(case)
    with device:
        return _take_steps(case)
