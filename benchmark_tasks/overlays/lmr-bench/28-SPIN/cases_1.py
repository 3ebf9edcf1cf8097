"""Inputs for `SPINTrainer.spin_loss`: log-probabilities of real and generated responses, and the options."""

import numpy as np

NAMES = ("policy_real_logps", "policy_generated_logps", "opponent_real_logps", "opponent_generated_logps")


def _case(rows, *, beta, loss_type="sigmoid", **options):
    return {
        "logps": dict(zip(NAMES, rows, strict=True)),
        "settings": {"beta": beta, "loss_type": loss_type},
        "options": options,
    }


def _random_case(rng, pairs, *, spread, **options):
    return _case(-50.0 + spread * rng.standard_normal((4, pairs)), **options)


def _equal_players(rng, pairs, **options):
    logps = -50.0 + 4.0 * rng.standard_normal((2, pairs))
    return _case((*logps, *logps), **options)


def _long_responses(rng, pairs, **options):
    # Log-ratios of several hundred are usual for long responses: the exponential of so much leaves float32. Quarters
    # are exact, so that the order of the additions does not matter.
    signs = np.where(np.arange(pairs) % 2, 1.0, -1.0) * np.array([[1.0], [-1.0], [0.0], [0.0]])
    logps = -600.0 + 150.0 * signs + rng.integers(0, 200, (4, pairs)) / 4
    return _case(logps.astype(np.float32), **options)


def cases(seed):
    """Logistic and hinge loss with several betas, without the opponent, one pair, equal players, long responses."""
    rng = np.random.default_rng([2801, seed])
    size = int(rng.integers(4, 9))
    beta = float(rng.uniform(0.2, 0.5))
    return [
        _random_case(rng, size, spread=3.0, beta=0.1),
        _random_case(rng, size + 1, spread=5.0, beta=beta, reference_free=False),
        _random_case(rng, 5, spread=1.0, beta=float(rng.uniform(1.0, 2.0))),
        _random_case(rng, 10, spread=2.0, beta=beta, loss_type="hinge"),
        _random_case(rng, 6, spread=3.0, beta=beta / 2, reference_free=True),
        _random_case(rng, 10, spread=3.0, beta=beta / 2, loss_type="hinge", reference_free=True),
        _random_case(rng, 1, spread=6.0, beta=beta),
        _equal_players(rng, 3, beta=beta),
        _long_responses(rng, 6, beta=0.5),
    ]
