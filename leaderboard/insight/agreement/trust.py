"""Measure agreement among annotators and each judge's accuracy against them, and correct the judge's share of CC.

The corrections are valid only if the labelled items are a random sample with known probabilities; disputes are not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from evaluator.labels import Label
from leaderboard.insight.agreement.label_counts import AUDITED, REVIEWABLE, TRUTH
from leaderboard.statistics.estimates import fleiss, ordinal_alpha
from leaderboard.statistics.intervals import Z, wilson
from leaderboard.statistics.results import (
    LABELS,
    LEAST_ITEMS,
    AnnotatorsAgreement,
    ClassAccuracy,
    Coefficient,
    Interval,
    JudgeTrust,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaderboard.insight.agreement.label_counts import Labels
    from leaderboard.insight.agreement.raters import Rater
    from leaderboard.statistics.coefficients import Array

CC: Final = Label.CC.value

LEAST_ANNOTATORS: Final = 3
"""With two annotators the table of first and second labels shows everything."""

MOST_WAITING: Final = 0.1
"""Largest share of randomly drawn answers still open; above it the closed ones are no longer a random sample."""


def annotators_agreement(labels: Labels) -> AnnotatorsAgreement:
    """Compute Fleiss' kappa and ordinal alpha of all annotators in the earliest rounds."""
    shared = sum(number for (_, given), number in labels.items.items() if sum(given) > 1)
    if labels.annotators < LEAST_ANNOTATORS:
        few = Coefficient(None, None, f"too few annotators ({labels.annotators} of at least {LEAST_ANNOTATORS})")
        return AnnotatorsAgreement(labels.annotators, shared, few, few)
    return AnnotatorsAgreement(
        labels.annotators, shared, fleiss=fleiss(labels.items), alpha=ordinal_alpha(labels.items)
    )


def judge_trust(labels: Labels, judge: Rater) -> JudgeTrust:
    """Compute the judge's accuracy for each label, and its share of CC corrected by the randomly audited answers.

    Only audited answers are used for the correction: disputes are the answers on which judges err most. An abstention
    is not CC, and is an error for the answer's true label.
    """
    pairs = Counter[tuple[str, str]]()
    sampled: list[tuple[int, int, float]] = []
    waiting = 0
    for _, verdict, truth, reviewable, audited, number in labels.reviewed.of(judge.column, TRUTH, REVIEWABLE, AUDITED):
        if verdict is None:
            continue
        if truth is not None:
            pairs[truth, verdict] += number
        if reviewable and audited is not None:
            if truth is None:
                waiting += number
            else:
                sampled += [(int(truth == CC), int(verdict == CC), 1 / audited)] * number
    population = Counter[bool]()
    for _, verdict, reviewable, number in labels.answers.of(judge.column, REVIEWABLE):
        if reviewable and verdict is not None:
            population[verdict == CC] += number
    truths, judged, weights = [list(column) for column in zip(*sampled, strict=True)] if sampled else ([], [], [])
    # Labels may have been added between the two counts.
    others = [1] * max(0, population[True] - sum(judged)) + [0] * max(0, population[False] - judged.count(0))
    not_closed = _not_closed(len(sampled), len(sampled) + waiting)
    return JudgeTrust(
        n=pairs.total(),
        abstained=sum(number for (_, verdict), number in pairs.items() if not verdict),
        classes=accuracy(pairs),
        population=population.total(),
        sampled=len(sampled),
        waiting=waiting,
        raw=_share(population[True], population.total(), "no judged answer can be audited"),
        prediction_powered=not_closed or ppi_mean(truths, judged, others, weights),
        rogan_gladen=not_closed or rogan_gladen(truths, judged, others, weights),
    )


def _not_closed(sampled: int, drawn: int) -> Coefficient | None:
    """Return the reason for no correction if too many of the drawn answers are open.

    Agreements are closed before disputes, so the answers closed first overstate the judge's accuracy.
    """
    if sampled < LEAST_LABELS or drawn - sampled <= MOST_WAITING * drawn:
        return None
    why = f"too few of the randomly drawn answers are closed ({sampled} of {drawn}): those that take longer differ"
    return Coefficient(None, None, why)


LEAST_LABELS = 60
"""In simulation a nominal 95 % interval of the corrected rate covers .69 at 5 labels, .91 at 20, .93 at 60."""


def accuracy(
    counts: Mapping[tuple[str, str], int], *, labels: tuple[str, ...] = LABELS, least: int = LEAST_ITEMS
) -> tuple[ClassAccuracy, ...]:
    """Compute recall and precision for each of ``labels``. ``counts``: (true label, judge's label) -> items."""
    return tuple(_class_accuracy(counts, label, least=least) for label in labels)


def _class_accuracy(counts: Mapping[tuple[str, str], int], label: str, *, least: int) -> ClassAccuracy:
    n = sum(counts.values())
    truths = sum(count for (truth, _), count in counts.items() if truth == label)
    judged = sum(count for (_, verdict), count in counts.items() if verdict == label)
    right = counts.get((label, label), 0)
    if n < least:
        recall = precision = Coefficient(None, None, f"too few shared items ({n} of at least {least})")
    else:
        recall = _share(right, truths, f"no item is {label} in truth")
        precision = _share(right, judged, f"the judge calls no item {label}")
    return ClassAccuracy(label, truths, judged, right, recall, precision)


def _share(k: int, n: int, undefined: str) -> Coefficient:
    if n == 0:
        return Coefficient(None, None, f"undefined: {undefined}")
    return Coefficient(k / n, Interval(*wilson(k, n)))


def ppi_mean(
    truth: Sequence[int],
    judged: Sequence[int],
    unlabelled: Sequence[int],
    weights: Sequence[float] | None = None,
) -> Coefficient:
    """Estimate the true rate of ones: the judge's rate, corrected by its mean error on the labelled items.

    ``truth`` and ``judged`` are 0 or 1 for each labelled item, ``unlabelled`` are the judge's values for every item
    without a label; ``weights`` are the labelled items' inverse inclusion probabilities. The method is power-tuned
    prediction-powered inference (Angelopoulos, Duchi and Zrnic 2023), as in ppi-python's ``ppi_mean_ci``. Raises
    ValueError for different lengths, values other than 0 and 1, and weights that are not positive.
    """
    y, yhat, w = _labelled(truth, judged, weights)
    others = _zeros_and_ones(unlabelled, "unlabelled")
    if why := _too_few(y, others):
        return Coefficient(None, None, why)
    trust = _power_tuning(y, yhat, others, w)
    errors = w * (y - trust * yhat)
    value = float(trust * others.mean() + errors.mean())
    spread = float(np.sqrt((trust * others).var() / others.size + errors.var() / y.size))
    return _within_zero_and_one(value, value - Z * spread, value + Z * spread)


def rogan_gladen(
    truth: Sequence[int],
    judged: Sequence[int],
    unlabelled: Sequence[int],
    weights: Sequence[float] | None = None,
) -> Coefficient:
    """Estimate the true rate of ones from the judge's rate, sensitivity and specificity.

    Arguments and exceptions as in ``ppi_mean``. The estimate is W. J. Rogan and B. Gladen's (1978), the interval
    Z. Lang and J. Reiczigel's (2014), which does not take a sample without errors for a judge without errors. Weighted
    labels count as the number in an equal-weight sample of the same precision (L. Kish 1965).
    """
    y, yhat, w = _labelled(truth, judged, weights)
    others = _zeros_and_ones(unlabelled, "unlabelled")
    if why := _too_few(y, others):
        return Coefficient(None, None, why)
    if y.min() == y.max():
        why = "undefined: all labelled items have one true value, so one error rate is unknown"
        return Coefficient(None, None, why)
    hits, positives = _effective(yhat[y == 1], w[y == 1])
    rejected, negatives = _effective(1 - yhat[y == 0], w[y == 0])
    youden = hits / positives + rejected / negatives - 1
    if youden <= 0:
        return Coefficient(None, None, "undefined: on the labelled items the judge is no better than chance")
    value = (float(others.mean()) + rejected / negatives - 1) / youden
    low, high = _lang_reiczigel((float(others.sum()), others.size), (hits, positives), (rejected, negatives))
    return _within_zero_and_one(value, low, high)


def _labelled(
    truth: Sequence[int], judged: Sequence[int], weights: Sequence[float] | None
) -> tuple[Array, Array, Array]:
    """Return the labelled items as arrays ``(n,)``, with weights that average 1."""
    w = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not len(truth) == len(judged) == w.size:
        msg = f"labelled items differ in number: {len(truth)} truths, {len(judged)} judged, {w.size} weights"
        raise ValueError(msg)
    if not (w > 0).all():
        msg = "weights are inverse inclusion probabilities: each must be positive"
        raise ValueError(msg)
    return _zeros_and_ones(truth, "truth"), _zeros_and_ones(judged, "judged"), w / w.mean() if w.size else w


def _zeros_and_ones(values: Sequence[int], name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.isin(array, (0, 1)).all():
        msg = f"{name} must be 0 or 1 for each item"
        raise ValueError(msg)
    return array


def _too_few(labelled: Array, unlabelled: Array) -> str:
    """Explain why the rate cannot be corrected; empty if it can."""
    if labelled.size < LEAST_LABELS:
        return f"too few randomly sampled labels ({labelled.size} of at least {LEAST_LABELS})"
    return "" if unlabelled.size else "undefined: every item has a label, so there is nothing to correct"


def _power_tuning(y: Array, yhat: Array, others: Array, w: Array) -> float:
    """Return the judge's weight, from 0 (labels only) to 1, that minimises the variance."""
    pilot = others.mean() + (w * (y - yhat)).mean()
    errors, guesses = w * (y - pilot), w * (yhat - pilot)
    covariance = ((errors - errors.mean()) * (guesses - guesses.mean())).mean()
    variance = np.var(np.concatenate([guesses, others - pilot]), ddof=1)
    return float(np.clip(covariance / ((1 + y.size / others.size) * variance), 0, 1)) if variance else 0.0


def _effective(hits: Array, weights: Array) -> tuple[float, float]:
    """Return weighted hits and trials, scaled to Kish's effective number of trials."""
    trials = float(weights.sum() ** 2 / (weights**2).sum())
    return float((hits * weights).sum() / weights.sum()) * trials, trials


def _lang_reiczigel(
    positive: tuple[float, float], sensitive: tuple[float, float], specific: tuple[float, float]
) -> tuple[float, float]:
    """Compute the interval from successes and trials of the judge's rate, sensitivity and specificity."""
    n, n_se, n_sp = positive[1] + Z**2, sensitive[1] + 2, specific[1] + 2
    p, se, sp = (positive[0] + Z**2 / 2) / n, (sensitive[0] + 1) / n_se, (specific[0] + 1) / n_sp
    youden = se + sp - 1
    rate = (p + sp - 1) / youden
    se_variance, sp_variance = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    spread = np.sqrt(p * (1 - p) / n + rate**2 * se_variance + (1 - rate) ** 2 * sp_variance) / youden
    shift = 2 * Z**2 * (rate * se_variance - (1 - rate) * sp_variance)
    return float(rate + shift - Z * spread), float(rate + shift + Z * spread)


def _within_zero_and_one(value: float, low: float, high: float) -> Coefficient:
    if high < 0 or low > 1:
        why = "undefined: the judge's rate does not fit its errors on the labelled items; were they sampled at random?"
        return Coefficient(None, None, why)
    if low == high:
        return Coefficient(_clip(value), None, "no interval: the judge and the labels never vary")
    return Coefficient(_clip(value), Interval(_clip(low), _clip(high)))


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
