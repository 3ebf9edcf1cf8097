"""Calls `Lion.step` several times with given gradients or a closure."""

import torch
from lion_pytorch import Lion
from torch.optim import Optimizer

# Only for PyTorch's compiler are these methods wrapped, and importing it would take longer than all the cases.
for name in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
    setattr(Optimizer, name, getattr(Optimizer, name).__wrapped__)


def _optimizer(groups, options):
    return Lion([{"params": group["parameters"], **group["options"]} for group in groups], **options)


def _momenta(optimizer, parameters):
    """Of each parameter with a gradient, the first state that has its shape, under any name."""
    states = [(each, optimizer.state[each].values()) for each in parameters if each.grad is not None]
    matching = [[state for state in values if getattr(state, "shape", None) == each.shape] for each, values in states]
    return [state.detach().numpy().copy() for found in matching for state in found[:1]]


def _steps_with_gradients(case, optimizer, groups):
    """Yield optimizer and loss after each step. A new optimizer may take over the saved state on the way."""
    for step, gradients in enumerate(case["gradients"]):
        if step == case["resume_after"]:
            saved = optimizer.state_dict()
            optimizer = _optimizer(groups, {})
            optimizer.load_state_dict(saved)
        for group, by_parameter in zip(groups, gradients, strict=True):
            for parameter, gradient in zip(group["parameters"], by_parameter, strict=True):
                parameter.grad = None if gradient is None else torch.from_numpy(gradient)
        yield optimizer, optimizer.step()


def _steps_with_closure(case, optimizer, groups):
    """Yield optimizer and loss after each step, whose closure computes the gradients of a squared error."""
    weights, offset = groups[0]["parameters"]

    def closure():
        optimizer.zero_grad()
        predicted = torch.from_numpy(case["features"]) @ weights + offset
        loss = (predicted - torch.from_numpy(case["targets"])).square().mean()
        loss.backward()
        return loss

    for _ in range(case["steps"]):
        yield optimizer, optimizer.step(closure)


def run(case):
    """Return loss, parameters and momenta after each step."""
    groups = [
        {**group, "parameters": [torch.nn.Parameter(torch.from_numpy(value)) for value in group["parameters"]]}
        for group in case["groups"]
    ]
    parameters = [parameter for group in groups for parameter in group["parameters"]]
    take_steps = _steps_with_closure if "features" in case else _steps_with_gradients
    outputs = {"losses": [], "parameters": [], "momenta": []}
    for optimizer, loss in take_steps(case, _optimizer(groups, case["options"]), groups):
        outputs["losses"].append(None if loss is None else torch.as_tensor(loss).item())
        outputs["parameters"].append([parameter.detach().numpy().copy() for parameter in parameters])
        outputs["momenta"].append(_momenta(optimizer, parameters))
    return outputs
