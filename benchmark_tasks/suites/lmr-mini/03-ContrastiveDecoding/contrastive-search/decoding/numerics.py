"""Numerically safe log-probabilities."""

import numpy as np


def log_softmax(logits, temperature=1.0):
    """Return log-probabilities of a vector of logits divided by `temperature`; -inf logits stay -inf."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    shifted = scaled - scaled.max()
    return shifted - np.log(np.exp(shifted).sum())
