"""Similarity of sentence vectors."""

import numpy as np


def cosine_table(left, right):
    """Return the cosine of every row of `left` with every row of `right`; a zero vector has cosine 0 with everything."""
    lengths = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)[None, :]
    products = left @ right.T
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
