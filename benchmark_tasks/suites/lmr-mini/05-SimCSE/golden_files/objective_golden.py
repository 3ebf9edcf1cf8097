"""Contrastive objective over a batch of triplets."""

from dataclasses import dataclass

import numpy as np

from simcse.pooling import first_last_average
from simcse.similarity import cosine_table


@dataclass(frozen=True)
class ContrastTerms:
    """`losses` (sentences,), share of anchors whose positive comes out on top, and mean squared anchor-positive distance."""

    losses: np.ndarray
    accuracy: float
    alignment: float


def supervised_contrast(batch, *, temperature, negative_weight=1.0):
    """Compute the supervised contrastive objective with in-batch and hard negatives.

    Args:
        batch: `TripletBatch` of n triplets, n >= 1.
        temperature: positive float that divides the cosine similarities.
        negative_weight: weight >= 0 of an anchor's own hard negative in the denominator; 0 leaves it out.

    Returns:
        `ContrastTerms` with one loss per anchor (float64) and two Python floats.
    """
    anchors, positives, negatives = (
        first_last_average(states) for states in (batch.anchors, batch.positives, batch.negatives)
    )
    count = len(anchors)
    own = np.eye(count, dtype=bool)
    to_positives = cosine_table(anchors, positives) / temperature
    to_negatives = cosine_table(anchors, negatives) / temperature
    with np.errstate(divide="ignore"):
        to_negatives = to_negatives + np.where(own, np.log(negative_weight), 0.0)
    to_negatives = np.where(batch.has_negative[None, :], to_negatives, -np.inf)

    logits = np.concatenate([to_positives, to_negatives], axis=1)
    target = np.diagonal(to_positives)
    peak = logits.max(axis=1)
    losses = peak + np.log(np.exp(logits - peak[:, None]).sum(axis=1)) - target

    rivals = np.where(np.concatenate([own, np.zeros_like(own)], axis=1), -np.inf, logits)
    accuracy = float(np.mean(target > rivals.max(axis=1)))
    cosines = np.diagonal(cosine_table(anchors, positives))
    return ContrastTerms(losses, accuracy, float(np.mean(2.0 - 2.0 * cosines)))


def mean_loss(terms):
    """The number that an optimiser would see."""
    return float(terms.losses.mean())
