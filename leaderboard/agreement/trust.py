"""How far people agree among themselves, and how far each judge agrees with what they settled."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from evaluator.judging.labels import Label
from leaderboard.agreement.judges import LEAST_LABELS, accuracy, ppi_mean, rogan_gladen
from leaderboard.agreement.label_counts import AUDITED, REVIEWABLE, TRUTH
from leaderboard.agreement.raters import fleiss, ordinal_alpha
from leaderboard.agreement.types import ClassAccuracy, Coefficient, Interval
from leaderboard.board.statistics import wilson

if TYPE_CHECKING:
    from leaderboard.agreement.asked import Rater
    from leaderboard.agreement.label_counts import Labels

CC: Final = Label.CC.value

LEAST_PEOPLE: Final = 3
"""Of two people the table of first and second labels says all."""

MOST_WAITING: Final = 0.1
"""Of the randomly drawn answers: above it those that are settled are no random sample any more."""


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """All annotators together: how many people, answers with two labels or more, and their agreement."""

    people: int
    n: int
    fleiss: Coefficient
    alpha: Coefficient

    def as_data(self) -> dict[str, Any]:
        """Plain values for JSON, keyed by the fields' names."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class JudgeTrust:
    """One judge against the final labels that people settled, and the share of CC that it reports put right.

    ``n`` answers have both a final label and this judge's word, which was an abstention for ``abstained`` of them. The
    correction is about ``population`` judged answers, of which the audit drew ``sampled`` that are settled and
    ``waiting`` that are not; ``raw`` is the share of CC that the judge gives them.
    """

    n: int
    abstained: int
    classes: tuple[ClassAccuracy, ...]
    population: int
    sampled: int
    waiting: int
    raw: Coefficient
    prediction_powered: Coefficient
    rogan_gladen: Coefficient

    def as_data(self) -> dict[str, Any]:
        """Plain values for JSON, keyed by the fields' names."""
        return asdict(self)


def people_agreement(labels: Labels) -> PeopleAgreement:
    """Fleiss' kappa and ordinal alpha over all annotators of the earliest rounds."""
    shared = sum(number for (_, given), number in labels.items.items() if sum(given) > 1)
    if labels.people < LEAST_PEOPLE:
        few = Coefficient(None, None, f"too few people ({labels.people} of at least {LEAST_PEOPLE})")
        return PeopleAgreement(labels.people, shared, few, few)
    return PeopleAgreement(labels.people, shared, fleiss=fleiss(labels.items), alpha=ordinal_alpha(labels.items))


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
    unsettled = _unsettled(len(sampled), len(sampled) + waiting)
    return JudgeTrust(
        n=pairs.total(),
        abstained=sum(number for (_, said), number in pairs.items() if not said),
        classes=accuracy(pairs),
        population=population.total(),
        sampled=len(sampled),
        waiting=waiting,
        raw=_share(population[True], population.total()),
        prediction_powered=unsettled or ppi_mean(truths, judged, others, weights),
        rogan_gladen=unsettled or rogan_gladen(truths, judged, others, weights),
    )


def _unsettled(sampled: int, drawn: int) -> Coefficient | None:
    """Why nothing is corrected while too many of the drawn answers wait: agreements are settled before disputes, so
    those that are settled first flatter the judge.
    """
    if sampled < LEAST_LABELS or drawn - sampled <= MOST_WAITING * drawn:
        return None
    why = f"too few of the randomly drawn answers are settled ({sampled} of {drawn}): those that take longer differ"
    return Coefficient(None, None, why)


def _share(k: int, n: int) -> Coefficient:
    if not n:
        return Coefficient(None, None, "undefined: no judged answer can be audited")
    return Coefficient(k / n, Interval(*wilson(k, n)))
