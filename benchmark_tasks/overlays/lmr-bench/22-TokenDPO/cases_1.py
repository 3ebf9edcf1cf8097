"""Inputs for `tdpo_loss`: log-ratios and sequential KL divergences of pairs of responses, and the options."""

import numpy as np


def _case(margins, divergences, **options):
    # Rows: chosen, rejected.
    return {
        "inputs": {
            "chosen_logps_margin": margins[0],
            "rejected_logps_margin": margins[1],
            "chosen_position_kl": divergences[0],
            "rejected_position_kl": divergences[1],
        },
        "options": options,
    }


def _random_case(rng, pairs, *, spread, divergence, **options):
    # The paper says how divergences enter the loss, not whether rewards contain them: some responses have none, so that
    # their rewards are certain.
    kept = rng.random((2, pairs)) < 0.6
    kept[:, -1] = False
    divergences = np.where(kept, divergence * rng.uniform(0.2, 1.0, (2, pairs)), 0.0)
    return _case(spread * rng.standard_normal((2, pairs)), divergences, **options)


def _long_responses(rng, pairs):
    # Margins of several hundred are usual for long responses: the exponential of so much leaves float32. Quarters are
    # exact, so that the order of the additions does not matter.
    signs = np.where(np.arange(pairs) % 2, 1.0, -1.0) * np.array([[1.0], [-1.0]])
    margins = 200.0 * signs + rng.integers(-200, 200, (2, pairs)) / 4
    divergences = np.where(signs > 0, 0.0, rng.integers(1, 40, (2, pairs)) / 4)
    return _case(margins.astype(np.float32), divergences.astype(np.float32), beta=0.5, alpha=0.5)


def cases(seed):
    """Alpha at its default, small, large and 0, TDPO2 named or by default, one pair, equal models, long responses."""
    rng = np.random.default_rng([2201, seed])
    size = int(rng.integers(5, 9))
    named = {"beta": float(rng.uniform(0.2, 0.5)), "alpha": float(rng.uniform(0.1, 0.4)), "if_tdpo2": True}
    large = {"beta": float(rng.uniform(0.3, 1.0)), "alpha": float(rng.uniform(1.5, 3.0))}
    one_pair = (5.0 * rng.standard_normal((2, 1)), np.array([[0.0], [rng.uniform(1.0, 6.0)]]))
    return [
        _random_case(rng, size, spread=6.0, divergence=10.0, beta=0.1),
        _random_case(rng, size + 1, spread=4.0, divergence=8.0, **named),
        _random_case(rng, 5, spread=2.0, divergence=4.0, **large),
        _random_case(rng, 4, spread=3.0, divergence=9.0, beta=0.25, alpha=0.0),
        _case(*one_pair, beta=0.3, alpha=0.7),
        _case(np.zeros((2, 3)), np.zeros((2, 3)), beta=float(rng.uniform(0.1, 0.5))),
        _long_responses(rng, 6),
    ]
