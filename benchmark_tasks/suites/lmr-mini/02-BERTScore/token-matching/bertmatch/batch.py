"""Sentences of different lengths in one padded batch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TokenBatch:
    """A padded batch of sentences.

    `embeddings` (sentences, tokens, dimension), `mask` (sentences, tokens) true at real tokens, `weights`
    (sentences, tokens) non-negative importance of each token. What stands at padded positions has no meaning.
    """

    embeddings: np.ndarray
    mask: np.ndarray
    weights: np.ndarray


def pad(token_vectors, token_weights, filler):
    """Build a `TokenBatch` from a list of (tokens, dimension) arrays and a list of weight lists.

    Padded positions are left as `filler` (a float) in embeddings and weights: nobody may rely on their values.
    """
    longest = max(len(vectors) for vectors in token_vectors)
    dimension = token_vectors[0].shape[1]
    embeddings = np.full((len(token_vectors), longest, dimension), filler, dtype=np.float64)
    weights = np.full((len(token_vectors), longest), abs(filler), dtype=np.float64)
    mask = np.zeros((len(token_vectors), longest), dtype=bool)
    for row, (vectors, importance) in enumerate(zip(token_vectors, token_weights)):
        embeddings[row, : len(vectors)] = vectors
        weights[row, : len(vectors)] = importance
        mask[row, : len(vectors)] = True
    return TokenBatch(embeddings, mask, weights)
