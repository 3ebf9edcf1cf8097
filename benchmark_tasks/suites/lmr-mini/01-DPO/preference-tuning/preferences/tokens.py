"""From next-token logits to the log-probability of a whole answer."""

from dataclasses import dataclass

import numpy as np

from preferences.numerics import log_softmax

IGNORED = -100


@dataclass(frozen=True)
class PairLogProbs:
    """Log-probabilities of the preferred and the rejected answers of a batch, each of shape (pairs,)."""

    chosen: np.ndarray
    rejected: np.ndarray


def answer_log_probs(logits, labels):
    """Sum the log-probabilities of the labels of each answer.

    `logits` has shape (pairs, tokens, vocabulary), `labels` (pairs, tokens). Position t predicts label t + 1; labels equal
    to `IGNORED` (prompt and padding) count nothing. Returns shape (pairs,).
    """
    targets = labels[:, 1:]
    counted = targets != IGNORED
    picked = np.take_along_axis(log_softmax(logits[:, :-1]), np.where(counted, targets, 0)[..., None], axis=-1)[..., 0]
    return np.where(counted, picked, 0.0).sum(axis=1)
