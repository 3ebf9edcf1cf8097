"""Inputs for `SimPOTrainer.simpo_loss`: average log-probabilities of pairs of responses, and the trainer's settings."""

import numpy as np

DEFAULTS = {"beta": 2.0, "gamma_beta_ratio": 0.25, "label_smoothing": 0.0, "loss_type": "sigmoid"}


def _case(chosen, rejected, **settings):
    return {
        "policy_chosen_logps": chosen,
        "policy_rejected_logps": rejected,
        "settings": DEFAULTS | settings,
    }


def _random_case(rng, pairs, **settings):
    # Averages per token, the longer half of the distances in favour of either response.
    middle = -rng.uniform(1.5, 3.0, pairs)
    half = rng.uniform(0.1, 1.2, pairs) * rng.permutation(np.where(np.arange(pairs) % 2, 1.0, -1.0))
    return _case(middle + half, middle - half, **settings)


def cases(seed):
    """Default settings, other betas and margins, no margin, label smoothing, hinge, one pair, equal responses.

    The paper defines the loss without label smoothing or hinge; both are only certain where there is no margin.
    """
    rng = np.random.default_rng([501, seed])
    size = int(rng.integers(5, 9))
    beta, large_beta = float(rng.uniform(1.0, 3.0)), float(rng.uniform(5.0, 10.0))
    ratio = float(rng.uniform(0.3, 0.9))
    smoothing = float(rng.uniform(0.05, 0.4))
    equal = -rng.uniform(0.5, 3.0, 3)
    return [
        _random_case(rng, size),
        _random_case(rng, size + 1, beta=beta, gamma_beta_ratio=ratio),
        _random_case(rng, 5, beta=large_beta, gamma_beta_ratio=ratio / 2),
        _random_case(rng, 4, beta=large_beta / 2, gamma_beta_ratio=0.0),
        _random_case(rng, 6, beta=beta, gamma_beta_ratio=0.0, label_smoothing=smoothing),
        _random_case(rng, 8, beta=beta, gamma_beta_ratio=0.0, loss_type="hinge"),
        _random_case(rng, 1, beta=beta, gamma_beta_ratio=ratio),
        _case(equal, equal.copy(), gamma_beta_ratio=ratio),
    ]
