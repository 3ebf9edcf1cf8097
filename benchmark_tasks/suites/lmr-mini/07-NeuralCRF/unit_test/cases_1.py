"""Inputs for `decode`: emission scores, field parameters, and entity types."""

import numpy as np

TYPES = ["PER", "LOC", "ORG", "MISC", "DATE"]


def _case(rng, *, tokens, types, spread=1.0):
    tags = 4 * types + 1
    return {
        "types": [TYPES[index] for index in rng.permutation(len(TYPES))[:types]],
        "emissions": 2.0 * rng.standard_normal((tokens, tags)),
        "transitions": spread * rng.standard_normal((tags, tags)),
        "start": spread * rng.standard_normal(tags),
        "end": spread * rng.standard_normal(tags),
    }


def cases(seed):
    """Short and long sentences, strong forbidden scores, whole-number scores with ties, one token, and none."""
    rng = np.random.default_rng([707, seed])
    ordinary = _case(rng, tokens=int(rng.integers(7, 12)), types=2)
    long = _case(rng, tokens=40, types=3, spread=2.0)
    # The encoder insists on Inside and End everywhere: only the constraints keep the sequence well-formed.
    stubborn = _case(rng, tokens=9, types=2)
    stubborn["emissions"][:, [2, 3, 6, 7]] += 6.0
    # Long sums of whole numbers are exact, so equal paths tie exactly and only the rule can decide.
    tied = _case(rng, tokens=8, types=2)
    for name in ("emissions", "transitions", "start", "end"):
        tied[name] = rng.integers(0, 2, size=tied[name].shape).astype(np.float64)
    flat = _case(rng, tokens=6, types=1)
    for name in ("emissions", "transitions", "start", "end"):
        flat[name] = np.zeros_like(flat[name])
    flat["emissions"][int(rng.integers(1, 5)), 1] = 3.0
    single = _case(rng, tokens=1, types=3)
    single["emissions"][0, 1] += 9.0
    empty = _case(rng, tokens=0, types=1)
    pair = _case(rng, tokens=2, types=4)
    pair["end"][[1, 2]] += 20.0
    return [ordinary, long, stubborn, tied, flat, single, pair, empty]
