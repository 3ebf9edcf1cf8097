"""Inputs for `SVDLinear.forward`: weights of the layer and its adapter, options, and the modes it is called in."""

import numpy as np


def _case(rng, *, r, shape, bias=True, pruned=0, modes=("train",), **options):
    """A layer of rank `r` for an input of `shape`, some of whose singular values are pruned away."""
    width, outputs = shape[-1], int(rng.integers(2, 7))
    singular = rng.standard_normal((r, 1))
    singular[rng.permutation(r)[:pruned]] = 0.0
    return {
        "r": r,
        "weight": rng.standard_normal((outputs, width)),
        "bias": rng.standard_normal(outputs) if bias else None,
        # The number of singular values that are left scales the adapter, as where the weights are merged.
        "adapter": {
            "lora_A": rng.standard_normal((r, width)),
            "lora_E": singular,
            "lora_B": rng.standard_normal((outputs, r)),
            "ranknum": np.array([float(r - pruned)]),
        }
        if r
        else {},
        "x": rng.standard_normal(shape),
        "output_gradient": rng.standard_normal((*shape[:-1], outputs)),
        "modes": list(modes),
        "options": options,
        "torch_seed": int(rng.integers(1, 2**31)),
    }


def cases(seed):
    """Rank zero, transposed weights, merged or not, dropout, pruned singular values, no bias, other scalings."""
    rng = np.random.default_rng([2501, seed])
    there_and_back = ("train", "eval", "train")
    return [
        _case(rng, r=3, shape=(4, 8)),
        _case(rng, r=2, shape=(3, 6), modes=there_and_back, fan_in_fan_out=True, lora_alpha=int(rng.integers(2, 17))),
        _case(rng, r=4, shape=(2, 3, 5), modes=there_and_back, merge_weights=False, lora_alpha=0),
        _case(rng, r=0, shape=(3, 4), modes=there_and_back),
        _case(rng, r=0, shape=(2, 5), modes=("eval", "train"), fan_in_fan_out=True, bias=False),
        _case(rng, r=5, shape=(3, 7), pruned=3, bias=False, lora_alpha=8, merge_weights=False),
        # All of the adapter pruned: nothing must be divided by zero.
        _case(rng, r=2, shape=(2, 4), pruned=2, modes=("eval", "train")),
        _case(rng, r=3, shape=(5, 6), modes=there_and_back, lora_dropout=float(rng.uniform(0.3, 0.6))),
        _case(rng, r=1, shape=(1, 9), modes=there_and_back, merge_weights=False, lora_dropout=0.5, fan_in_fan_out=True),
    ]
