"""Inputs for `nsa`: queries, keys, values, gates, selected blocks and options."""

import numpy as np


def _selected(rng, length, block_size, chosen):
    """Distinct blocks (length, chosen), the one of the token itself first: no token is without a key.

    The others come from the whole sequence, so that some lie wholly in a token's future.
    """
    blocks = -(-length // block_size)
    rows = []
    for token in range(length):
        own = token // block_size
        others = rng.permutation([block for block in range(blocks) if block != own])
        rows.append([own, *others[: chosen - 1]])
    return np.array(rows, dtype=np.int64)


def _case(rng, *, lengths, block_size=None, chosen=2, heads=1, batch=1, sizes=(6, 4), counts=None, **options):
    """Inputs in the layout (batch, time, heads, ...); several `lengths` are sequences in a row."""
    time, (key_size, value_size), query_heads = sum(lengths), sizes, 16 * heads
    selected = [
        np.concatenate([_selected(rng, length, block_size or 64, chosen) for length in lengths])
        for _ in range(batch * heads)
    ]
    given = {} if block_size is None else {"block_size": block_size}
    if counts == "tensor":
        given["block_counts"] = rng.integers(1, chosen + 1, size=(batch, time, heads))
    elif counts == "symmetric":
        # The documentation leaves open how counts lie in the head-first layout: here time and heads may change places.
        drawn = rng.integers(1, chosen + 1, size=(batch, time, heads))
        given["block_counts"] = np.minimum(drawn, drawn.swapaxes(1, 2))
    elif counts is not None:
        given["block_counts"] = counts
    if len(lengths) > 1:
        given["cu_seqlens"] = np.cumsum([0, *lengths])
    return {
        "q": 1.5 * rng.standard_normal((batch, time, query_heads, key_size)),
        "k": rng.standard_normal((batch, time, heads, key_size)),
        "v": rng.standard_normal((batch, time, heads, value_size)),
        "g_slc": rng.uniform(0.1, 0.9, (batch, time, query_heads)),
        "g_swa": rng.uniform(0.1, 0.9, (batch, time, query_heads)),
        "block_indices": np.stack(selected).reshape(batch, heads, time, chosen).swapaxes(1, 2),
        "weights": rng.standard_normal((batch, time, query_heads, value_size)),
        "options": {**given, **options},
    }


def cases(seed):
    """Window on and off, counts per token, as a number and absent, both layouts, sequences in a row, one token."""
    rng = np.random.default_rng([1901, seed])
    several = [int(length) for length in rng.integers(4, 8, size=2)]
    return [
        _case(rng, lengths=[9], block_size=2, chosen=3, batch=2, window_size=3),
        _case(rng, lengths=[8], block_size=2, heads=2, chosen=3, counts="tensor", scale=float(rng.uniform(0.1, 0.9))),
        _case(rng, lengths=[7], block_size=2, heads=2, chosen=3, counts=2, window_size=2, head_first=True),
        _case(rng, lengths=[3], block_size=1, heads=3, counts="symmetric", window_size=2, head_first=True),
        _case(rng, lengths=several, block_size=2, heads=2, counts="tensor", window_size=2),
        _case(rng, lengths=[5, 3, 4], block_size=2, counts=1),
        _case(rng, lengths=[7], block_size=3, batch=2, heads=2, sizes=(4, 4), window_size=1, head_first=True),
        _case(rng, lengths=[1], block_size=4, chosen=1, sizes=(5, 3), window_size=4),
        _case(rng, lengths=[67], chosen=1, sizes=(3, 2)),
        _case(rng, lengths=[8], block_size=3, batch=2, chosen=2, counts="tensor", window_size=20, sizes=(3, 5)),
    ]
