"""Inputs for `run_exp1`: a small vision transformer, which of its layers to look at, and a part of the picture."""

import numpy as np

PATCH = 4


def _case(rng, *, depth, layer_id, family="dinov2_reg", size="giant", registers=4, side=3, scale=1.0):
    """A square part of the picture, shrunk to `side` patches a side, for a model with `registers` extra tokens."""
    width, left, top = (int(number) for number in rng.integers([120, 0, 0], [200, 40, 40]))
    return {
        "draw": int(rng.integers(2**31)),
        "depth": depth,
        "layer_id": layer_id,
        "model_family": family,
        "model_size": size,
        "registers": registers,
        "channels": 2 * int(rng.integers(3, 7)),
        "scale": scale,
        "patch": PATCH,
        "pixels": side * PATCH,
        "box": [left, top, left + width, top + width],
    }


def cases(seed):
    """First, middle and last layers, one layer alone, other families and sizes, one patch, massive activations."""
    rng = np.random.default_rng([1801, seed])
    return [
        _case(rng, depth=4, layer_id=int(rng.integers(2, 4))),
        _case(rng, depth=3, layer_id=1, family="vit_orig", size="large", registers=0),
        _case(rng, depth=3, layer_id=3, family="dinov2", size="base", side=2),
        _case(rng, depth=1, layer_id=1, family="mae", size="huge", side=1),
        _case(rng, depth=12, layer_id=int(rng.integers(10, 13)), size="small", side=2),
        _case(rng, depth=5, layer_id=int(rng.integers(1, 6)), scale=100.0),
    ]
