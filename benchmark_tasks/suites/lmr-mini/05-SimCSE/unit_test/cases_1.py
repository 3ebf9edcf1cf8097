"""Inputs for `supervised_contrast`: encoder states of triplets, temperature and weight."""

import numpy as np


def _states(rng, count, size, layers, around=None):
    tokens = int(rng.integers(3, 7))
    mask = np.arange(tokens)[None, :] < rng.integers(1, tokens + 1, size=(count, 1))
    states = rng.standard_normal((layers, count, tokens, size))
    if around is not None:
        states = states + around[None, :, None, :]
    # What stands at padded positions has no meaning and must not be seen.
    return np.where(mask[None, :, :, None], states, 25.0), mask


def _case(rng, *, count, size, temperature, with_negative=True, layers=3, **options):
    case = {"temperature": temperature, "options": options, "has_negative": np.full(count, with_negative)}
    topic = 1.5 * rng.standard_normal((count, size))
    for name, around in (("anchors", topic), ("positives", topic), ("negatives", 0.7 * topic)):
        case[f"{name}_layers"], case[f"{name}_mask"] = _states(rng, count, size, layers, around)
    return case


def cases(seed):
    """All negatives, some, none; other weights, a weight of zero, one triplet, low temperature, and a zero vector with ties."""
    rng = np.random.default_rng([505, seed])
    ordinary = _case(rng, count=5, size=6, temperature=float(rng.uniform(0.3, 1.0)))
    weighted = _case(rng, count=4, size=5, temperature=0.5, negative_weight=float(rng.uniform(2.0, 6.0)))
    incomplete = _case(rng, count=6, size=4, temperature=0.8, negative_weight=float(rng.uniform(0.2, 0.7)))
    incomplete["has_negative"] = rng.permutation(np.array([True, True, True, False, False, False]))
    unweighted = _case(rng, count=4, size=5, temperature=0.4, negative_weight=0.0)
    cold = _case(rng, count=4, size=6, temperature=0.0005, layers=2)
    single = _case(rng, count=1, size=4, temperature=0.6, negative_weight=1.7)
    lonely = _case(rng, count=1, size=4, temperature=0.6, with_negative=False)
    zero = _case(rng, count=3, size=3, temperature=0.7, layers=1)
    zero["anchors_layers"][:, 1] = 0.0
    return [ordinary, weighted, incomplete, unweighted, cold, single, lonely, zero]
