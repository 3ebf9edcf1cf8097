"""Inputs for `get_delta`: matrices of standardised intensities, and what their rows and columns stand for."""

import numpy as np

SIZES = {"religion": 5, "ethnicity": 18, "nationality": 21}


def _case(rng, option, *, size=None, gap=0.0, shift=0.0):
    """A matrix with about `gap` more on its diagonal; `shift` moves all of it away from a mean of 0."""
    size = size or SIZES[option]
    return {"matrix": rng.standard_normal((size, size)) + gap * np.eye(size) + shift, "group_option": option}


def cases(seed):
    """Every grouping, higher, lower and no special intensities in the in-group, two groups, and constant ones."""
    rng = np.random.default_rng([1501, seed])
    return [
        _case(rng, "religion", gap=rng.uniform(0.5, 2)),
        _case(rng, "ethnicity"),
        _case(rng, "ethnicity", gap=-1.5, shift=rng.uniform(1, 3)),
        _case(rng, "nationality", gap=rng.uniform(0.5, 2)),
        _case(rng, "religion", gap=-1.0, shift=rng.uniform(1, 3)),
        _case(rng, "nationality", size=2),
        {"matrix": np.full((5, 5), rng.uniform(-4, 4)) - rng.uniform(1, 3) * np.eye(5), "group_option": "religion"},
    ]
