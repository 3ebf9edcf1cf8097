"""Inputs for `preference_loss`: log-probabilities of pairs of responses under both models, and the options."""

import numpy as np

NAMES = ("policy_chosen_logps", "policy_rejected_logps", "reference_chosen_logps", "reference_rejected_logps")


def _case(rows, **options):
    return {"logps": dict(zip(NAMES, rows, strict=True)), "options": options}


def _random_case(rng, pairs, *, spread, **options):
    return _case(-40.0 + spread * rng.standard_normal((4, pairs)), **options)


def _equal_models(rng, pairs, **options):
    logps = -40.0 + 4.0 * rng.standard_normal((2, pairs))
    return _case((*logps, *logps), **options)


def _long_responses(rng, pairs):
    # Log-ratios of several hundred are usual for long responses: the exponential of so much leaves float32. Quarters
    # are exact, so that the order of the additions does not matter.
    signs = np.where(np.arange(pairs) % 2, 1.0, -1.0) * np.array([[1.0], [-1.0], [0.0], [0.0]])
    logps = -600.0 + 150.0 * signs + rng.integers(0, 200, (4, pairs)) / 4
    return _case(logps.astype(np.float32), beta=0.5)


def cases(seed):
    """Several betas, the options that the trainer passes at their defaults, one pair, equal models, long responses."""
    rng = np.random.default_rng([101, seed])
    size = int(rng.integers(4, 9))
    defaults = {"label_smoothing": 0.0, "ipo": False, "reference_free": False}
    return [
        _random_case(rng, size, spread=3.0, beta=0.1),
        _random_case(rng, size + 1, spread=5.0, beta=float(rng.uniform(0.2, 0.5))),
        _random_case(rng, 5, spread=1.0, beta=float(rng.uniform(1.0, 2.0)), **defaults),
        _random_case(rng, 1, spread=6.0, beta=0.3),
        _equal_models(rng, 3, beta=float(rng.uniform(0.1, 0.5))),
        _long_responses(rng, 6),
    ]
