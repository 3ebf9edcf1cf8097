"""Inputs for `MultiScaleSeasonMixing`: seasonal parts at every scale, and weights of the layers between scales."""

from itertools import pairwise

import numpy as np


def _weights(rng, before, after):
    # One hidden unit, which stands for all of them: the paper leaves their number open.
    return {
        "first_weight": rng.standard_normal(before) / np.sqrt(before),
        "first_bias": float(rng.standard_normal()),
        "last_weight": rng.standard_normal(after),
        "last_bias": rng.standard_normal(after),
    }


def _case(rng, length, window, layers, *, batch=2, features=3):
    lengths = [length // window**scale for scale in range(layers + 1)]
    return {
        "arguments": {"seq_len": length, "down_sampling_window": window, "down_sampling_layers": layers},
        # From fine to coarse, in the layout in which the surrounding code passes them.
        "parts": [rng.standard_normal((batch, features, size)) for size in lengths],
        "weights": [_weights(rng, *pair) for pair in pairwise(lengths)],
        "outer": [rng.standard_normal((batch, size, features)) for size in lengths],
    }


def cases(seed):
    """One to four layers, windows of 2 to 4, lengths that leave a rest, one feature, one series, down to one value."""
    rng = np.random.default_rng([2101, seed])
    return [
        _case(rng, 16, 2, 3),
        _case(rng, int(rng.integers(9, 24)), 2, 1, features=4),
        _case(rng, int(rng.integers(27, 50)), 3, 3, batch=1),
        _case(rng, 29, 2, 2, features=1),
        _case(rng, 16, 2, 4, batch=3, features=2),
        _case(rng, int(rng.integers(16, 40)), 4, 2, features=5),
    ]
