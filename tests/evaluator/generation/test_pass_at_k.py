"""The unbiased estimate of pass@k."""

from __future__ import annotations

from math import comb

import pytest

from evaluator.generation.pass_at_k import mean_pass_at_k, pass_at_k


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (1, 0, 1, 0.0),
        (1, 1, 1, 1.0),
        (10, 3, 1, 0.3),
        (10, 3, 5, 1 - 21 / 252),
        (5, 1, 3, 0.6),
        (10, 8, 3, 1.0),
        (200, 13, 100, 0.9999203),
    ],
)
def test_reference_values(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("n", range(1, 11))
def test_it_is_the_formula_for_every_number_of_trials(n: int) -> None:
    for c in range(n + 1):
        for k in range(1, n + 1):
            assert pass_at_k(n, c, k) == pytest.approx(1 - comb(n - c, k) / comb(n, k), abs=1e-12)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4), (0, 0, 1)])
def test_what_cannot_be_estimated_is_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"pass@{k} cannot be estimated from {c} passes of {n} trials"):
        pass_at_k(n, c, k)


def test_the_mean_is_over_tasks_whatever_their_trials() -> None:
    assert mean_pass_at_k([(10, 3), (2, 2), (4, 0)], 1) == pytest.approx((0.3 + 1 + 0) / 3)
    assert mean_pass_at_k([], 1) is None
