"""Calls `nsa` and differentiates through it."""

import torch
from NSA import nsa
from probe_tools import gradients, returned

FLOATS = ("q", "k", "v", "g_slc", "g_swa")


def run(case):
    """Return the outputs, and the gradients of a weighted sum of them, all in the layout (batch, time, heads, ...)."""
    options = dict(case["options"])

    def laid_out(tensor):
        return tensor.transpose(1, 2) if options.get("head_first") else tensor

    for name in ("block_counts", "cu_seqlens"):
        if name in options and not isinstance(options[name], int):
            options[name] = torch.tensor(options[name])
    leaves = {name: torch.tensor(case[name], dtype=torch.float32, requires_grad=True) for name in FLOATS}
    inputs = {name: laid_out(leaf) for name, leaf in leaves.items()}
    found = nsa(**inputs, block_indices=laid_out(torch.tensor(case["block_indices"])), **options)
    output = laid_out(returned(found, torch.Tensor, "a tensor is"))
    # The gate of a branch that is off may take part with zeros or not at all.
    followed = gradients((output * torch.tensor(case["weights"])).sum(), leaves)
    return {"output": output.detach().numpy(), "gradients": followed}
