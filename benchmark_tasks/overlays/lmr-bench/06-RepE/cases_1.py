"""Inputs for `get_rep_directions_agent`: hidden states of layers, the layers to read, and how many components."""

import numpy as np


def _orthonormal(rng, rows, columns):
    return np.linalg.qr(rng.standard_normal((rows, columns)))[0]


def _hidden_states(rng, examples, width, offset):
    """States with principal components of clearly different variances, around a mean that is not zero."""
    rank = min(examples - 1, width)
    # Columns that are orthogonal to the constant one: the mean of the examples is the offset alone.
    centred = np.column_stack([np.ones(examples), rng.standard_normal((examples, rank))])
    scores = np.linalg.qr(centred)[0][:, 1:]
    spread = np.sqrt(examples) * 3.0 * 0.6 ** np.arange(rank) * rng.uniform(0.9, 1.1, size=rank)
    mean = offset * rng.standard_normal(width)
    return ((scores * spread) @ _orthonormal(rng, width, rank).T + mean).astype(np.float32)


def _case(rng, *, shapes, layers, components=1, offset=1.0):
    """Shapes (examples, width) of all layers from the last one backwards, and the layers to read."""
    return {
        "hidden_states": {str(-1 - place): _hidden_states(rng, *shape, offset) for place, shape in enumerate(shapes)},
        "hidden_layers": layers,
        "n_components": components,
    }


def cases(seed):
    """One component and several, one layer, some or all, few examples and many, two examples, means far from zero."""
    rng = np.random.default_rng([601, seed])
    examples, width = int(rng.integers(8, 14)), int(rng.integers(5, 9))
    return [
        _case(rng, shapes=[(examples, width)] * 4, layers=[-1, -2, -3, -4]),
        _case(rng, shapes=[(examples, width)] * 5, layers=[-4, -2]),
        _case(rng, shapes=[(6, 12), (6, 12)], layers=[-1, -2], components=3),
        _case(rng, shapes=[(60, 4), (60, 4), (60, 4)], layers=[-3, -1], components=2, offset=4.0),
        _case(rng, shapes=[(2, width)], layers=[-1], offset=10.0),
        _case(rng, shapes=[(examples, 3), (examples, width)], layers=[-2, -1], components=2, offset=0.2),
    ]
