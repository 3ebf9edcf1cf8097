"""The preference objective: what is minimised, and what is logged beside it."""

from dataclasses import dataclass

import numpy as np

from preferences.numerics import log_sigmoid


@dataclass(frozen=True)
class PreferenceTerms:
    """Per-pair results, each of shape (pairs,), and the share of pairs that are ranked correctly."""

    losses: np.ndarray
    chosen_rewards: np.ndarray
    rejected_rewards: np.ndarray
    accuracy: float


def preference_objective(policy, reference, config):
    """Compute the DPO losses and implicit rewards of a batch of answer pairs.

    Args:
        policy: `PairLogProbs` of the model that is trained.
        reference: `PairLogProbs` of the frozen reference model, same shapes.
        config: `ObjectiveConfig` with `beta`, `label_smoothing` and `reference_free`.

    Returns:
        `PreferenceTerms`. Losses are per pair, not averaged. Rewards are always measured against the reference model, even
        when the loss is `reference_free`. `accuracy` is a float: the share of pairs whose chosen reward is strictly larger.
    """
    # TODO: implement
    raise NotImplementedError


def batch_loss(terms):
    """Mean loss of a batch, the number that an optimiser would see."""
    return float(terms.losses.mean())
