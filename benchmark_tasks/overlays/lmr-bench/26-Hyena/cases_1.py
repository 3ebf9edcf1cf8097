"""Inputs for `HyenaOperator.forward`: sequences, and what the operator is built from."""

import numpy as np


def _case(rng, *, size, width, order=2, longest=None, gates="equal", options=None, training=False):
    """Inputs of `size` (batch, length). The paper and the repository take the gates in opposite orders, so either all
    are equal, or each is constant over time; and they lay out several filters of several channels differently, so
    orders above 2 come with a width of 1."""
    batch, length = size
    shape = (batch, length, width)
    return {
        "inputs": rng.standard_normal(shape),
        "output_weights": rng.standard_normal(shape),
        "options": {"d_model": width, "l_max": longest or length, "order": order, **(options or {})},
        "gates": gates,
        "training": training,
        "weights_seed": int(rng.integers(2**31)),
    }


def cases(seed):
    """Orders 2 to 4, short sequences, one token, options of the filter, dropout of nothing and of everything."""
    rng = np.random.default_rng([2601, seed])
    length = int(rng.integers(7, 14))
    wider = {"filter_order": 6, "emb_dim": 5, "w": 3, "num_inner_mlps": 1, "fast_decay_pct": 0.6, "shift": 0.1}
    return [
        _case(rng, size=(2, length), width=4),
        _case(rng, size=(3, length), width=5, longest=length + 4, options=wider),
        _case(rng, size=(2, length), width=3, gates="constant", options={"filter_order": 8}),
        _case(rng, size=(2, length), width=1, order=3, options={"filter_order": 8, "modulate": False}),
        _case(rng, size=(1, length + 2), width=1, order=4, longest=length + 3, options={"filter_order": 5}),
        _case(rng, size=(2, length), width=1, order=3, gates="constant", options={"filter_order": 7}),
        _case(rng, size=(4, 1), width=3, longest=6, options={"filter_order": 4}),
        _case(rng, size=(2, length), width=3, options={"filter_order": 8, "dropout": 0.5}),
        _case(rng, size=(2, length), width=2, options={"filter_order": 8, "dropout": 1.0}, training=True),
    ]
