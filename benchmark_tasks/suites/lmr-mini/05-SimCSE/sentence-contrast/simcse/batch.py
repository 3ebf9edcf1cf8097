"""What the encoder hands over."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SentenceStates:
    """`layers` (layers, sentences, tokens, size): embedding layer first; `mask` (sentences, tokens), true at real tokens."""

    layers: np.ndarray
    mask: np.ndarray


@dataclass(frozen=True)
class TripletBatch:
    """Premises, entailed sentences and contradictions, row by row.

    `has_negative` (sentences,) is false where a premise came without a contradiction; that row of `negatives` is meaningless.
    """

    anchors: SentenceStates
    positives: SentenceStates
    negatives: SentenceStates
    has_negative: np.ndarray
