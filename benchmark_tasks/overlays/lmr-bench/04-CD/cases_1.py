"""Inputs for `probing`: how the hidden states of two groups of prompts differ in every layer, and their labels."""

import numpy as np


def _layer(shift, *, spread=1.0, width=3):
    """One direction tells the groups apart by their means; in the others only the spread may differ."""
    return {"shift": float(shift), "spread": spread, "width": width}


def _case(rng, layers, *, counts=(5000, 5000), log_label=0, used=None, averaged=False):
    """Both groups are large: then it matters little which rows a probe is trained on, and which it is tested on."""
    return {
        "draw": int(rng.integers(2**31)),
        "layers": layers,
        "tot_layer": len(layers) if used is None else used,
        "counts": list(counts),
        "labels": [log_label, 1 - log_label],
        "averaged": averaged,
    }


def cases(seed):
    """Easy and hard layers, either label, unequal groups, unused layers, spread without shift, and pure chance."""
    rng = np.random.default_rng([401, seed])
    weak, middle, strong = rng.uniform([0.4, 1.0, 1.8], [0.8, 1.5, 2.8], size=(7, 3)).T
    return [
        _case(rng, [_layer(weak[0]), _layer(strong[0]), _layer(middle[0])]),
        _case(rng, [_layer(middle[1]), _layer(8.0), _layer(strong[1])], log_label=1),
        _case(rng, [_layer(strong[2]), _layer(0.8 * strong[2])], counts=(8000, 2500)),
        _case(rng, [_layer(-middle[3]), _layer(-strong[3])], counts=(7500, 2500), log_label=1),
        _case(rng, [_layer(-middle[4]), _layer(weak[4]), _layer(6.0)], used=2),
        # A line sees the shift alone; a forest would tell the groups apart by their spread.
        _case(rng, [_layer(middle[5], spread=6.0), _layer(strong[5], spread=9.0, width=5)], log_label=1),
        # More features than rows and nothing to learn: a probe is perfect on its own rows, and guesses on others.
        _case(rng, [_layer(0.0, width=150)] * 12, counts=(100, 100), averaged=True),
        _case(rng, [_layer(strong[6], width=1)], counts=(4000, 6000)),
    ]
