"""How far annotators agree among themselves, how far each judge agrees with them, and its share of CC put right.

The corrections hold only where the labelled items are a random sample of known probability: disputes alone are not.
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
"""Of two annotators the table of first and second labels says all."""

MOST_WAITING: Final = 0.1
"""Of the randomly drawn answers: above it those that are closed are no random sample any more."""


def annotators_agreement(labels: Labels) -> AnnotatorsAgreement:
    """Fleiss' kappa and ordinal alpha over all annotators of the earliest rounds."""
    shared = sum(number for (_, given), number in labels.items.items() if sum(given) > 1)
    if labels.annotators < LEAST_ANNOTATORS:
        few = Coefficient(None, None, f"too few annotators ({labels.annotators} of at least {LEAST_ANNOTATORS})")
        return AnnotatorsAgreement(labels.annotators, shared, few, few)
    return AnnotatorsAgreement(
        labels.annotators, shared, fleiss=fleiss(labels.items), alpha=ordinal_alpha(labels.items)
    )


def judge_trust(labels: Labels, judge: Rater) -> JudgeTrust:
    """The judge's accuracy for each label, and its share of CC corrected by the randomly audited answers.

    Only the audit may correct: disputes alone are the answers on which judges err most. An abstention is no CC, and
    misses the label that the answer deserves.
    """
    pairs = Counter[tuple[str, str]]()
    sampled: list[tuple[int, int, float]] = []
    waiting = 0
    for _, said, truth, reviewable, audited, number in labels.reviewed.of(judge.column, TRUTH, REVIEWABLE, AUDITED):
        if said is None:
            continue
        if truth is not None:
            pairs[truth, said] += number
        if reviewable and audited is not None:
            if truth is None:
                waiting += number
            else:
                sampled += [(int(truth == CC), int(said == CC), 1 / audited)] * number
    population = Counter[bool]()
    for _, said, reviewable, number in labels.answers.of(judge.column, REVIEWABLE):
        if reviewable and said is not None:
            population[said == CC] += number
    truths, judged, weights = [list(column) for column in zip(*sampled, strict=True)] if sampled else ([], [], [])
    # Labels may have come between the two counts.
    others = [1] * max(0, population[True] - sum(judged)) + [0] * max(0, population[False] - judged.count(0))
    not_closed = _not_closed(len(sampled), len(sampled) + waiting)
    return JudgeTrust(
        n=pairs.total(),
        abstained=sum(number for (_, said), number in pairs.items() if not said),
        classes=accuracy(pairs),
        population=population.total(),
        sampled=len(sampled),
        waiting=waiting,
        raw=_share(population[True], population.total(), "no judged answer can be audited"),
        prediction_powered=not_closed or ppi_mean(truths, judged, others, weights),
        rogan_gladen=not_closed or rogan_gladen(truths, judged, others, weights),
    )


def _not_closed(sampled: int, drawn: int) -> Coefficient | None:
    """Why nothing is corrected while too many of the drawn answers wait: agreements are closed before disputes, so
    those that are closed first flatter the judge.
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
    """Recall and precision per label, in the order of ``labels``. ``counts`` has the number of items by their true
    label and the judge's.
    """
    return tuple(_class_accuracy(counts, label, least=least) for label in labels)


def _class_accuracy(counts: Mapping[tuple[str, str], int], label: str, *, least: int) -> ClassAccuracy:
    n = sum(counts.values())
    truths = sum(count for (truth, _), count in counts.items() if truth == label)
    judged = sum(count for (_, said), count in counts.items() if said == label)
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
    """The rate of ones in truth: the judge's rate, put right by its mean error on the labelled items.

    ``truth`` and ``judged`` are 0 or 1 for each labelled item, ``unlabelled`` the judge's for every item that has no
    label; ``weights`` are the labelled items' inverse inclusion probabilities. Power-tuned prediction-powered
    inference (Angelopoulos, Duchi and Zrnic 2023), as ppi-python's ``ppi_mean_ci`` computes it. Raises ValueError on
    lengths that differ, values other than 0 and 1, and weights that are not positive.
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
    """The rate of ones in truth, from the judge's rate, its sensitivity and its specificity.

    Arguments and errors as in ``ppi_mean``. Estimate of W. J. Rogan and B. Gladen (1978), interval of Z. Lang and
    J. Reiczigel (2014), which does not take a faultless sample for a faultless judge. Weighted labels count as the
    number that an equal-weight sample of their precision would have (L. Kish 1965).
    """
    y, yhat, w = _labelled(truth, judged, weights)
    others = _zeros_and_ones(unlabelled, "unlabelled")
    if why := _too_few(y, others):
        return Coefficient(None, None, why)
    if y.min() == y.max():
        return Coefficient(None, None, "undefined: in truth all labelled items are alike, so one error rate is unknown")
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
    """The labelled items as arrays ``(n,)``, with weights that average 1."""
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
    """Why the rate cannot be corrected, in a sentence; empty where it can."""
    if labelled.size < LEAST_LABELS:
        return f"too few randomly sampled labels ({labelled.size} of at least {LEAST_LABELS})"
    return "" if unlabelled.size else "undefined: every item has a label, so there is nothing to correct"


def _power_tuning(y: Array, yhat: Array, others: Array, w: Array) -> float:
    """How much of the judge to use, 0 (only the labels) to 1: what makes the variance smallest."""
    pilot = others.mean() + (w * (y - yhat)).mean()
    errors, guesses = w * (y - pilot), w * (yhat - pilot)
    covariance = ((errors - errors.mean()) * (guesses - guesses.mean())).mean()
    variance = np.var(np.concatenate([guesses, others - pilot]), ddof=1)
    return float(np.clip(covariance / ((1 + y.size / others.size) * variance), 0, 1)) if variance else 0.0


def _effective(hits: Array, weights: Array) -> tuple[float, float]:
    """Weighted hits and trials, scaled to Kish's effective number of trials."""
    trials = float(weights.sum() ** 2 / (weights**2).sum())
    return float((hits * weights).sum() / weights.sum()) * trials, trials


def _lang_reiczigel(
    positive: tuple[float, float], sensitive: tuple[float, float], specific: tuple[float, float]
) -> tuple[float, float]:
    """The interval from successes and trials of the judge's rate, its sensitivity and its specificity."""
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
