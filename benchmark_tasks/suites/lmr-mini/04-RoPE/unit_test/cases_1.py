"""Inputs for `RotaryEmbedding.rotate_`: queries, keys, positions and the layer's sizes."""

import numpy as np


def _case(rng, *, batch, heads, key_heads, tokens, head_size, rotary_size, base=10000.0, scale=1.0, start=0):
    offsets = rng.integers(start, start + 50, size=(batch, 1))
    return {
        "head_size": head_size,
        "rotary_size": rotary_size,
        "base": base,
        "scale": scale,
        "queries": rng.standard_normal((batch, heads, tokens, head_size)),
        "keys": rng.standard_normal((batch, key_heads, tokens, head_size)),
        "positions": np.arange(tokens)[None, :] + offsets,
    }


def cases(seed):
    """Whole and partial rotation, shared key heads, cached offsets, shuffled and negative positions, float32, one pair."""
    rng = np.random.default_rng([404, seed])
    whole = _case(rng, batch=2, heads=2, key_heads=2, tokens=5, head_size=8, rotary_size=8, start=1)
    partial = _case(rng, batch=1, heads=4, key_heads=2, tokens=4, head_size=10, rotary_size=6, base=500.0)
    decoding_step = _case(rng, batch=3, heads=4, key_heads=1, tokens=1, head_size=6, rotary_size=4, start=900, scale=4.0)
    shuffled = _case(rng, batch=2, heads=2, key_heads=1, tokens=6, head_size=4, rotary_size=4, base=float(rng.uniform(10, 99)))
    shuffled["positions"] = rng.integers(-20, 20, size=(2, 6))
    single_precision = _case(rng, batch=2, heads=2, key_heads=2, tokens=4, head_size=6, rotary_size=6, scale=2.0, start=3)
    for name in ("queries", "keys"):
        single_precision[name] = single_precision[name].astype(np.float32)
    one_pair = _case(rng, batch=1, heads=1, key_heads=1, tokens=3, head_size=5, rotary_size=2, start=7)
    unrotated = _case(rng, batch=1, heads=2, key_heads=1, tokens=3, head_size=4, rotary_size=0)
    return [whole, partial, decoding_step, shuffled, single_precision, one_pair, unrotated]
