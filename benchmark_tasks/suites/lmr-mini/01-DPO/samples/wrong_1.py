def preference_objective(policy, reference, config):
    """Treats the smoothing weights the wrong way round and drops the reference from the rewards when reference-free."""
    scale = 0.0 if config.reference_free else 1.0
    chosen_rewards = config.beta * (policy.chosen - scale * reference.chosen)
    rejected_rewards = config.beta * (policy.rejected - scale * reference.rejected)
    margin = chosen_rewards - rejected_rewards
    losses = -config.label_smoothing * log_sigmoid(margin) - (1.0 - config.label_smoothing) * log_sigmoid(-margin)
    return PreferenceTerms(losses, chosen_rewards, rejected_rewards, float(np.mean(margin > 0)))
