import numpy as np


def scaled_margin(scores, beta):
    """Return beta times (chosen minus rejected) for each pair."""
    return beta * (np.asarray(scores.chosen) - np.asarray(scores.rejected))


def preference_objective(policy, reference, config):
    chosen_rewards = config.beta * (policy.chosen - reference.chosen)
    rejected_rewards = config.beta * (policy.rejected - reference.rejected)
    margins = scaled_margin(policy, config.beta)
    if not config.reference_free:
        margins = margins - scaled_margin(reference, config.beta)
    smoothing = config.label_smoothing
    losses = -(1.0 - smoothing) * log_sigmoid(margins) - smoothing * log_sigmoid(-margins)
    accuracy = float(np.mean(chosen_rewards > rejected_rewards))
    return PreferenceTerms(losses, chosen_rewards, rejected_rewards, accuracy)
