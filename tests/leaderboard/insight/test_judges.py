"""A judge compared with adjudicated labels, and the correction of its rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from leaderboard.insight.agreement.trust import accuracy, ppi_mean, rogan_gladen
from leaderboard.statistics.results import Coefficient
from tests.leaderboard.statistics.rated import UPSTREAM, Pair, pairs_of

TRUTH = [1] * 24 + [0] * 36 + [1] * 6 + [0] * 4
JUDGED = [1] * 20 + [0] * 4 + [1] * 6 + [0] * 30 + [1] * 3 + [0] * 3 + [0] * 4
UNLABELLED = [1] * 90 + [0] * 110
WEIGHTS = [2.0 if place % 3 == 0 else 1.0 for place in range(70)]
Correction = Callable[..., Coefficient]
BOTH = pytest.mark.parametrize("correct", [ppi_mean, rogan_gladen])


def rated(pairs: list[Pair]) -> Counter[tuple[str, str]]:
    """Items by true label and the judge's."""
    return Counter((pair.first, pair.second) for pair in pairs)


def shown(coefficient: Coefficient) -> tuple[float, float, float]:
    assert coefficient.value is not None
    assert coefficient.interval is not None
    return coefficient.value, coefficient.interval.low, coefficient.interval.high


def test_recall_and_precision_per_label() -> None:
    """Upstream's judge, with the annotators' labels as the truth."""
    cc, lc, li = accuracy(rated(pairs_of(UPSTREAM)))
    assert [(row.label, row.truths, row.judged, row.right) for row in (cc, lc, li)] == [
        ("CC", 52, 30, 23),
        ("LC", 39, 28, 10),
        ("LI", 77, 110, 72),
    ]
    assert shown(lc.precision) == pytest.approx((10 / 28, 0.2071, 0.5417), abs=5e-5)
    assert shown(cc.recall) == pytest.approx((23 / 52, 0.3160, 0.5766), abs=5e-5)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(None, (0.44472007, 0.3465407, 0.54289944)), (WEIGHTS, (0.44336821, 0.34021877, 0.54651765))],
    ids=["random", "weighted"],
)
def test_prediction_powered_mean_is_what_ppi_python_computes(
    weights: list[float] | None, expected: tuple[float, float, float]
) -> None:
    """Values of ppi-python 0.2.3, ``ppi_mean_ci(…, alpha=0.05, w=…)``."""
    assert shown(ppi_mean(TRUTH, JUDGED, UNLABELLED, weights)) == pytest.approx(expected, abs=1e-8)


def test_rogan_gladen_corrects_the_judges_rate() -> None:
    """Sensitivity 23/30, specificity 34/40, the judge's rate 90/200."""
    value, low, high = shown(rogan_gladen(TRUTH, JUDGED, UNLABELLED))
    assert value == pytest.approx((0.45 + 0.85 - 1) / (23 / 30 + 0.85 - 1))
    assert (low, high) == (pytest.approx(0.29817, abs=5e-6), pytest.approx(0.69432, abs=5e-6))


@pytest.mark.parametrize(("correct", "least"), [(ppi_mean, 0.91), (rogan_gladen, 0.93)])
def test_the_interval_holds_the_truth_at_sixty_labels(correct: Correction, least: float) -> None:
    rng = np.random.default_rng(20261122)
    held = 0
    for _ in range(400):
        truth = rng.random(260) < 0.35
        judged = np.where(truth, rng.random(260) < 0.75, rng.random(260) < 0.12).astype(int)
        _, low, high = shown(correct(list(truth[:60].astype(int)), list(judged[:60]), list(judged[60:])))
        held += low <= 0.35 <= high
    assert least <= held / 400 <= 0.985


@BOTH
def test_fifty_nine_labels_are_too_few(correct: Correction) -> None:
    why = "too few randomly sampled labels (59 of at least 60)"
    assert correct(TRUTH[:59], JUDGED[:59], UNLABELLED) == Coefficient(None, None, why)
    assert correct(TRUTH[:60], JUDGED[:60], UNLABELLED).interval is not None
    assert correct([], [], UNLABELLED).why == "too few randomly sampled labels (0 of at least 60)"


def test_rogan_gladen_needs_both_kinds_and_a_judge_better_than_chance() -> None:
    alike = rogan_gladen([1] * 60, JUDGED[:60], UNLABELLED)
    assert alike.why == "undefined: all labelled items have one true value, so one error rate is unknown"
    chance = rogan_gladen([1, 0] * 30, [1, 1, 0, 0] * 15, UNLABELLED)
    assert chance.why == "undefined: on the labelled items the judge is no better than chance"


def test_a_sample_without_errors_does_not_mean_a_judge_without_errors() -> None:
    found = rogan_gladen([1] * 30 + [0] * 30, [1] * 30 + [0] * 30, [1] * 50 + [0] * 50)
    assert found.value == 0.5
    assert found.interval is not None
    assert found.interval.low < 0.4038 < 0.5962 < found.interval.high


def test_labels_that_cannot_explain_the_judges_rate_correct_nothing() -> None:
    """An interval wholly below zero would be shown as a certain zero."""
    found = rogan_gladen(TRUTH, JUDGED, [0] * 99 + [1])
    assert (found.value, found.interval) == (None, None)
    assert found.why.startswith("undefined: the judge's rate does not fit its errors on the labelled items")


@BOTH
@pytest.mark.parametrize(
    ("truth", "judged", "unlabelled", "weights", "message"),
    [
        ([1], [1, 0], [1], None, "labelled items differ in number: 1 truths, 2 judged, 1 weights"),
        ([1], [1], [1], [1.0, 1.0], "labelled items differ in number: 1 truths, 1 judged, 2 weights"),
        ([1], [1], [1], [0.0], "each must be positive"),
        ([2], [1], [1], None, "truth must be 0 or 1"),
        ([1], [3], [1], None, "judged must be 0 or 1"),
        ([1], [1], [5], None, "unlabelled must be 0 or 1"),
    ],
)
def test_invalid_samples_are_refused(
    correct: Correction,
    truth: list[int],
    judged: list[int],
    unlabelled: list[int],
    weights: list[float] | None,
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        correct(truth, judged, unlabelled, weights)
