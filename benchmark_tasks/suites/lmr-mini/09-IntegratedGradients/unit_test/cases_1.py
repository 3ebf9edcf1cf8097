"""Inputs for `integrated_gradients`: weights of a classifier, a sentence, baselines and the rule."""

import numpy as np


def _case(rng, *, tokens, size, baselines, classes=3, units=6, scale=1.0, **options):
    return {
        "gate": rng.standard_normal(size),
        "hidden": scale * rng.standard_normal((size, units)),
        "bias": 0.5 * rng.standard_normal(units),
        "output": 1.5 * rng.standard_normal((units, classes)),
        "embeddings": rng.standard_normal((tokens, size)),
        "baselines": 0.3 * rng.standard_normal((baselines, tokens, size)),
        "target": int(rng.integers(0, classes)),
        "options": options,
    }


def cases(seed):
    """Default options, each rule, one and several baselines, one step, one token, and a baseline that is the input itself."""
    rng = np.random.default_rng([909, seed])
    zero = _case(rng, tokens=5, size=4, baselines=1, steps=int(rng.integers(5, 12)), quadrature="midpoint")
    zero["baselines"] = np.zeros_like(zero["baselines"])
    default = _case(rng, tokens=7, size=4, baselines=2, classes=5)
    several = _case(rng, tokens=4, size=5, baselines=4, steps=6, quadrature="gauss", scale=0.6)
    right = _case(rng, tokens=6, size=3, baselines=2, steps=int(rng.integers(3, 9)), quadrature="right", classes=4)
    coarse = _case(rng, tokens=3, size=6, baselines=3, steps=1, quadrature="midpoint", classes=2)
    one_token = _case(rng, tokens=1, size=4, baselines=2, steps=5, quadrature="right")
    nothing = _case(rng, tokens=3, size=4, baselines=1, steps=4, quadrature="gauss")
    nothing["baselines"] = nothing["embeddings"][None].copy()
    return [default, zero, several, right, coarse, one_token, nothing]
