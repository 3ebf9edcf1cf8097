"""Elementary functions that neither overflow nor lose all digits for large arguments."""

import numpy as np


def log_sigmoid(values):
    """Return log(1 / (1 + exp(-values))) elementwise, finite for every finite argument."""
    values = np.asarray(values, dtype=np.float64)
    return np.minimum(values, 0.0) - np.log1p(np.exp(-np.abs(values)))


def log_softmax(logits):
    """Return the log-probabilities of `logits` over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
