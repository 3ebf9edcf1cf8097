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
    # TODO: implement
    raise NotImplementedError


def mean_loss(terms):
    """The number that an optimiser would see."""
    return float(terms.losses.mean())
