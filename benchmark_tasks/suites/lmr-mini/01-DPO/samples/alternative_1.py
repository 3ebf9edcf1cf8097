import numpy as np


def preference_objective(policy, reference, config):
    """Cross-entropy of the soft label (1 - eps, eps) against the two-way softmax of the scaled scores."""
    rewards = [config.beta * (getattr(policy, s) - getattr(reference, s)) for s in ("chosen", "rejected")]
    if config.reference_free:
        scores = [config.beta * policy.chosen, config.beta * policy.rejected]
    else:
        scores = rewards
    normaliser = np.logaddexp(scores[0], scores[1])
    eps = config.label_smoothing
    losses = (1 - eps) * (normaliser - scores[0]) + eps * (normaliser - scores[1])
    wins = sum(1 for good, bad in zip(*rewards) if good > bad)
    return PreferenceTerms(losses, rewards[0], rewards[1], wins / len(losses))
