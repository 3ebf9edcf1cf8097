"""How far people agree among themselves, and how far each judge agrees with what they settled."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from leaderboard.agreement.types import ClassAccuracy, Coefficient, Interval, Pair
from leaderboard.domain.agreement_raters import JUDGE_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leaderboard.domain.agreement_raters import Rater, Ratings

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


def judged_raters(ratings: Ratings) -> list[Rater]:
    """This site's judges that said anything here."""
    return [rater for rater in ratings.raters if rater.slug.startswith(JUDGE_PREFIX) and ratings.labels.get(rater.slug)]


def people_agreement(ratings: Ratings) -> PeopleAgreement:
    """Fleiss' kappa and ordinal alpha over all annotators of the earliest rounds."""
    given = Counter(key for labels in ratings.people.values() for key in labels)
    shared = [key for key, labels in given.items() if labels > 1]
    if len(ratings.people) < LEAST_PEOPLE:
        few = Coefficient(None, None, f"too few people ({len(ratings.people)} of at least {LEAST_PEOPLE})")
        return PeopleAgreement(len(ratings.people), len(shared), few, few)
    # Loads scientific libraries, which take long: not before something has to be computed.
    from leaderboard.agreement.raters import fleiss, ordinal_alpha

    clusters = {key: ratings.items[key].paper for key in given}
    return PeopleAgreement(
        people=len(ratings.people),
        n=len(shared),
        fleiss=fleiss(ratings.people, clusters=clusters),
        alpha=ordinal_alpha(ratings.people, clusters=clusters),
    )


def judge_trust(ratings: Ratings, rater: Rater) -> JudgeTrust:
    """The judge's accuracy for each label, and its share of CC corrected by the randomly audited answers.

    Only the audit may correct: disputes alone are the answers on which judges err most. An abstention is no CC, and
    misses the label that the answer deserves.
    """
    from leaderboard.agreement.judges import accuracy, ppi_mean, rogan_gladen

    says = ratings.labels[rater.slug]
    pairs = [
        Pair(item=key, cluster=ratings.items[key].paper, first=label, second=says[key])
        for key, label in ratings.truth.items()
        if key in says
    ]
    population = [key for key in says if key in ratings.reviewable]
    drawn = [key for key in population if key in ratings.audited]
    sampled = [key for key in drawn if key in ratings.truth]
    labelled = set(sampled)
    truth, judged = _completely_correct(ratings.truth, sampled), _completely_correct(says, sampled)
    others = _completely_correct(says, [key for key in population if key not in labelled])
    weights = [1 / ratings.audited[key] for key in sampled]
    unsettled = _unsettled(len(sampled), len(drawn))
    return JudgeTrust(
        n=len(pairs),
        abstained=sum(not pair.second for pair in pairs),
        classes=accuracy(pairs),
        population=len(population),
        sampled=len(sampled),
        waiting=len(drawn) - len(sampled),
        raw=_share(_completely_correct(says, population)),
        prediction_powered=unsettled or ppi_mean(truth, judged, others, weights),
        rogan_gladen=unsettled or rogan_gladen(truth, judged, others, weights),
    )


def _unsettled(sampled: int, drawn: int) -> Coefficient | None:
    """Why nothing is corrected while too many of the drawn answers wait: agreements are settled before disputes, so
    those that are settled first flatter the judge.
    """
    from leaderboard.agreement.judges import LEAST_LABELS

    if sampled < LEAST_LABELS or drawn - sampled <= MOST_WAITING * drawn:
        return None
    why = f"too few of the randomly drawn answers are settled ({sampled} of {drawn}): those that take longer differ"
    return Coefficient(None, None, why)


def _completely_correct(labels: Mapping[str, str], keys: list[str]) -> list[int]:
    return [int(labels[key] == "CC") for key in keys]


def _share(values: list[int]) -> Coefficient:
    if not values:
        return Coefficient(None, None, "undefined: no judged answer can be audited")
    from leaderboard.domain.statistics import wilson

    return Coefficient(sum(values) / len(values), Interval(*wilson(sum(values), len(values))))
