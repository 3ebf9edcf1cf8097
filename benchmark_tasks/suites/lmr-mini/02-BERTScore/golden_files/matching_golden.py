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
    similarity = unit_vectors(candidates.embeddings) @ np.swapaxes(unit_vectors(references.embeddings), 1, 2)
    comparable = candidates.mask[:, :, None] & references.mask[:, None, :]
    similarity = np.where(comparable, similarity, -np.inf)

    def weighted_best(batch, axis):
        best = np.where(comparable.any(axis=axis), similarity.max(axis=axis), 0.0)
        weights = np.where(batch.mask, batch.weights, 0.0)
        total = weights.sum(axis=1)
        return np.divide((weights * best).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)

    precision = weighted_best(candidates, axis=2)
    recall = weighted_best(references, axis=1)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return {"precision": precision, "recall": recall, "f1": f1}
