"""Scores between rotated queries and keys."""

import numpy as np


def causal_scores(queries, keys, positions):
    """Return scaled dot products, shape (batch, heads, tokens, tokens); 0 where a key lies in the query's future.

    Key heads are shared by consecutive groups of query heads.
    """
    repeats = queries.shape[1] // keys.shape[1]
    shared = np.repeat(keys, repeats, axis=1)
    scores = queries @ np.swapaxes(shared, -1, -2) / np.sqrt(queries.shape[-1])
    visible = positions[:, None, :, None] >= positions[:, None, None, :]
    return np.where(visible, scores, 0.0)
