"""Greedy matching of candidate and reference tokens."""

import numpy as np


def unit_vectors(embeddings):
    """Scale the last axis to length one; zero vectors stay zero."""
    norms = np.linalg.norm(embeddings, axis=-1, keepdims=True)
    return np.divide(embeddings, norms, out=np.zeros_like(embeddings), where=norms > 0)


def greedy_match(candidates, references):
    """Score each candidate sentence against the reference sentence in the same row.

    Args:
        candidates: `TokenBatch` of the generated sentences.
        references: `TokenBatch` of the same number of reference sentences; its padded length may differ.

    Returns:
        dict with the keys "precision", "recall" and "f1", each a float64 array of shape (sentences,).
        The method note says what an empty sentence, or one whose weights are all zero, scores.
    """
    # TODO: implement
    raise NotImplementedError
