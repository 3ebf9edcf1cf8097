"""All that is asked about agreement at once: pairs of raters, people among themselves, judges against decisions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

from leaderboard.domain.agreement import RaterPair, check_raters, question, rater_pairs, read_scope
from leaderboard.domain.agreement_cache import Question, digest
from leaderboard.domain.agreement_raters import Ratings, load_ratings
from leaderboard.domain.agreement_trust import judge_trust, judged_raters, people_agreement

if TYPE_CHECKING:
    from benchmark_tasks.models import Suite
    from leaderboard.domain.agreement_raters import Rater, Scope


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to know, as the page's address and the command's options name it; empty: all."""

    category: str = ""
    system: str = ""
    inputs: str = ""
    samples: bool = False
    binary: bool = False
    first: str = ""
    second: str = ""

    @property
    def narrowed(self) -> bool:
        """Whether it is about a part of the suite, which may be a single answer."""
        return bool(self.category or self.system or self.inputs)


@dataclass(frozen=True, slots=True)
class Report:
    """The labels, the pairs of raters, and what has to be computed of them.

    ``questions`` are those of the ``pairs``, in their order, then that of the people, then those of the ``judges``.
    """

    scope: Scope
    ratings: Ratings
    pairs: list[RaterPair]
    judges: list[Rater]
    questions: list[Question]


def read_report(*, suite: Suite, asked: Asked) -> Report:
    """Read every label that is asked for. Raises ``UnknownChoiceError``. The number of queries is constant."""
    scope = read_scope(
        suite=suite, category=asked.category, system=asked.system, inputs=asked.inputs, samples=asked.samples
    )
    check_raters(asked.first, asked.second)
    ratings = load_ratings(suite=suite, scope=scope)
    pairs = rater_pairs(ratings, binary=asked.binary, first=asked.first, second=asked.second)
    judges = judged_raters(ratings)
    about = f"{suite.slug} {sorted(asdict(asked).items())}"
    questions = [question(pair, about=about) for pair in pairs]
    questions.append(_of_people(ratings, about))
    questions += [_of_judge(ratings, judge, about) for judge in judges]
    return Report(scope=scope, ratings=ratings, pairs=pairs, judges=judges, questions=questions)


def _of_people(ratings: Ratings, about: str) -> Question:
    papers = {key: ratings.items[key].paper for labels in ratings.people.values() for key in labels}
    given = sorted((person, sorted(labels.items())) for person, labels in ratings.people.items())
    return Question(
        name=f"{about} people",
        data=digest(["people", given, sorted(papers.items())]),
        compute=partial(people_agreement, ratings),
    )


def _of_judge(ratings: Ratings, judge: Rater, about: str) -> Question:
    said = sorted(ratings.labels[judge.slug].items())
    papers = [ratings.items[key].paper for key, _ in said]
    settled, audited = sorted(ratings.truth.items()), sorted(ratings.audited.items())
    return Question(
        name=f"{about} {judge.slug}",
        data=digest(["judge", said, papers, settled, sorted(ratings.reviewable), audited]),
        compute=partial(judge_trust, ratings, judge),
    )
