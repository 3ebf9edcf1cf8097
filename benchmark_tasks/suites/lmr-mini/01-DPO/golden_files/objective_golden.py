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
    policy_ratio = policy.chosen - policy.rejected
    reference_ratio = reference.chosen - reference.rejected
    if config.reference_free:
        reference_ratio = np.zeros_like(policy_ratio)
    margin = config.beta * (policy_ratio - reference_ratio)
    kept, flipped = 1.0 - config.label_smoothing, config.label_smoothing
    losses = -kept * log_sigmoid(margin) - flipped * log_sigmoid(-margin)
    chosen_rewards = config.beta * (policy.chosen - reference.chosen)
    rejected_rewards = config.beta * (policy.rejected - reference.rejected)
    accuracy = float(np.mean(chosen_rewards > rejected_rewards))
    return PreferenceTerms(losses, chosen_rewards, rejected_rewards, accuracy)


def batch_loss(terms):
    """Mean loss of a batch, the number that an optimiser would see."""
    return float(terms.losses.mean())
