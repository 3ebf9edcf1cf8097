"""Count in the database how often raters gave each label. Only public labels are counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import NullIf

from benchmark_tasks.models import TaskRevision
from evaluator.enums import RunState, WorkState
from evaluator.labels import Label
from evaluator.models import TestRun
from evaluator.outcomes import Outcome
from leaderboard.board.blocks import counted_in_blocks
from leaderboard.insight.agreement.raters import (
    DECISION,
    FIRST_LABEL,
    REPORTED_ANNOTATORS,
    REPORTED_JUDGE,
    REPORTED_TESTS,
    REST,
    SECOND_LABEL,
    TESTS,
    UPSTREAM_TESTS,
    Rater,
)
from leaderboard.models import ReportedResult
from leaderboard.models.enums import Provenance
from leaderboard.statistics.results import LABELS
from reviews.cases.triggers import eligible
from reviews.enums import CLOSED, CaseKind, CaseState, FinalSource, Role, TriggerKind
from reviews.models import Case as ReviewCase
from reviews.models import Review
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from leaderboard.board.blocks import Rows
    from leaderboard.models import Entry

REVIEWABLE: Final = "reviewable"
"""Whether the random audit draws from these answers."""
TRUTH: Final = "truth"
"""The newest final label by annotators."""
AUDITED: Final = "audited"
"""The probability with which the random audit drew the answer; None if it did not draw it."""

_TEST_OUTCOMES: Final = {TESTS: "outcome", UPSTREAM_TESTS: "upstream_outcome"}
REPORTED: Final = (REPORTED_ANNOTATORS, REPORTED_TESTS, REPORTED_JUDGE)
OUR_ANNOTATORS: Final = (DECISION, FIRST_LABEL, SECOND_LABEL)

_BY_ANNOTATORS: Final = (FinalSource.AGREED, FinalSource.DECISION)
_ANSWERS_PAPER: Final = "revision__task__paper__slug"
_RESULTS_PAPER: Final = "task__paper__slug"
_CATEGORY: Final = "revision__category__slug"
_ANSWERS, _REVIEWED, _ITEMS, _ANNOTATORS = "answers", "reviewed", "items", "annotators"
"""The parts of a block's counts."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Numbers of answers with the same paper and the same values in ``columns``: ``(paper, *values, number)``.

    A rater's label is None if there is none, and empty if the rater abstained.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def of(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield paper, the values of ``columns``, and number; combinations may occur more than once."""
        places = [0, *(self.columns.index(column) + 1 for column in columns), -1]
        return (tuple(row[place] for place in places) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Labels:
    """Counts of every label on the selected answers.

    ``answers`` counts all of this site's answers by the labels of tests and judges, ``reviewed`` those with a case by
    annotators' labels as well. ``items`` counts answers by paper and by how many of the ``annotators`` gave each label
    (CC, LC, LI).
    """

    reported: Counted
    answers: Counted
    reviewed: Counted
    items: Counter[tuple[str, tuple[int, ...]]]
    annotators: int

    def with_both(self, first: Rater, second: Rater) -> Counted | None:
        """Return the counts with the labels of both raters; None if no answer can have both."""
        for counted in (self.reported, self.answers, self.reviewed):
            if {first.column, second.column} <= set(counted.columns):
                return counted
        return None


def count_labels(
    *, entries: QuerySet[Entry], category: str, raters: Sequence[Rater], hidden: Collection[int] = ()
) -> Labels:
    """Count all labels on the answers of ``entries``, in one category unless it is empty.

    The submissions ``hidden`` from the viewer are not counted.

    Three queries; another six for each block of submissions whose counts are not kept (``board.blocks``).
    """
    machines = [rater for rater in raters if rater in _TEST_OUTCOMES or rater.judge]
    columns = [REVIEWABLE, *(rater.column for rater in machines)]
    with_annotators = [*columns, *(rater.column for rater in OUR_ANNOTATORS), TRUTH, AUDITED]

    def count(some: QuerySet[Entry]) -> Rows:
        parts = {
            _ANSWERS: _counted(
                _rated(answers_of(some, ""), machines, some), _ANSWERS_PAPER, [_CATEGORY, *columns]
            ).rows,
            _REVIEWED: _counted(_reviewed_of(some, machines), _ANSWERS_PAPER, [_CATEGORY, *with_annotators]).rows,
            **_blind_labels(some),
        }
        return tuple((part, *row) for part, rows in parts.items() for row in rows)

    found = defaultdict[str, list[tuple[Any, ...]]](list)
    for part, first, of, *rest in counted_in_blocks(entries, count, *columns, hidden=hidden):
        if not category or of == category:
            found[part].append((first, *rest))
    items = Counter[tuple[str, tuple[int, ...]]]()
    for paper, *numbers, answers in found[_ITEMS]:
        items[paper, tuple(numbers)] += answers
    return Labels(
        reported=_counted(
            with_reported_labels(results_of(entries, category)), _RESULTS_PAPER, [each.column for each in REPORTED]
        ),
        answers=Counted(tuple(columns), tuple(found[_ANSWERS])),
        reviewed=Counted(tuple(with_annotators), tuple(found[_REVIEWED])),
        items=items,
        annotators=len(set(found[_ANNOTATORS])),
    )


def _rated(answers: QuerySet[Implementation], machines: Sequence[Rater], entries: QuerySet[Entry]) -> QuerySet[Any]:
    """Add the columns of the ``machines``, and whether the audit draws from an answer."""
    # Databases would else collect the reviewable answers of the whole site.
    among = eligible().filter(submission__in=entries.values("submission")).values("pk")
    reviewable = ExpressionWrapper(Q(pk__in=among), output_field=BooleanField())
    found: QuerySet[Any] = with_labels(answers, machines, entries).annotate(**{REVIEWABLE: reviewable})
    return found


def _reviewed_of(entries: QuerySet[Entry], machines: Sequence[Rater]) -> QuerySet[Any]:
    """Select the answers with a case, with the columns of the ``machines`` and of annotators."""
    answers = answers_of(entries, "").filter(pk__in=_reviewed().values("implementation"))
    found: QuerySet[Any] = with_labels(_rated(answers, machines, entries), OUR_ANNOTATORS, entries).annotate(
        **{
            TRUTH: _newest(_closed_rounds().filter(source__in=_BY_ANNOTATORS).exclude(label=""), "label"),
            AUDITED: _newest(_rounds().filter(triggers__kind=TriggerKind.AUDIT), "triggers__inclusion_probability"),
        }
    )
    return found


def answers_of(entries: QuerySet[Entry], category: str) -> QuerySet[Implementation]:
    """Return the answers of the submissions among ``entries``."""
    answers = Implementation.objects.filter(submission__in=entries.values("submission"))
    return answers.filter(revision__category__slug=category) if category else answers


def results_of(entries: QuerySet[Entry], category: str) -> QuerySet[ReportedResult]:
    """Return the results by task that others reported, of the runs among ``entries``; not those measured again.

    A task's category is that of its revision in the version that shows the run.
    """
    results = ReportedResult.objects.filter(run__entry__in=entries.exclude(provenance=Provenance.REMEASURED))
    revisions = TaskRevision.objects.filter(
        task=OuterRef("task"), suite_versions=OuterRef("run__entry__suite_version"), category__slug=category
    )
    return results.filter(Exists(revisions)) if category else results


def with_reported_labels(results: QuerySet[ReportedResult]) -> QuerySet[Any]:
    """Add a column for each reported rater."""
    passed = When(tests_passed=True, then=Value(Label.CC.value)), When(tests_passed=False, then=Value(REST))
    return results.annotate(
        **{
            REPORTED_TESTS.column: Case(*passed, default=None, output_field=CharField()),
            REPORTED_JUDGE.column: NullIf("judge_label", Value("")),
            REPORTED_ANNOTATORS.column: NullIf("human_label", Value("")),
        }
    )


def with_labels(answers: QuerySet[Any], raters: Iterable[Rater], entries: QuerySet[Entry]) -> QuerySet[Any]:
    """Add a column for each of ``raters``, who rate this site's answers. One query if tests are among them."""
    left_out = _left_out(entries) if any(rater in _TEST_OUTCOMES for rater in raters) else []
    for rater in raters:
        if rater.judge:
            judged = Q(judgements__config=rater.judge, judgements__state=WorkState.DONE)
            row = f"{rater.column}_row"
            answers = answers.annotate(**{row: FilteredRelation("judgements", condition=judged)})
            # The label of an abstention is empty.
            answers = answers.annotate(**{rater.column: F(f"{row}__label")})
        else:
            outcome = _TEST_OUTCOMES.get(rater)
            answers = answers.annotate(**{rater.column: _tests(outcome, left_out) if outcome else _LABELS_OF[rater]()})
    return answers


def closed_case() -> Subquery:
    """Select the number of an answer's newest case whose labels are public."""
    return _newest(_closed_rounds(), "pk")


def _counted(rows: QuerySet[Any], paper: str, columns: Sequence[str]) -> Counted:
    counted = rows.order_by().values_list(paper, *columns).annotate(number=Count("pk"))
    return Counted(columns=tuple(columns), rows=tuple(counted))


def _left_out(entries: QuerySet[Entry]) -> list[When]:
    """Return conditions that remove test results of tasks left out of the answer's row, as the board does. One query.

    Rows that leave out the same tasks share a condition; usually all do.
    """
    lists = entries.exclude(left_out=[]).order_by().values_list("left_out", flat=True).distinct()
    return [
        When(submission__entry__left_out=tasks, revision__task__slug__in=[each["task"] for each in tasks], then=None)
        for tasks in lists
    ]


def _tests(outcome: str, left_out: list[When]) -> Case:
    """Convert the field ``outcome`` of an answer's newest test run to a label; infrastructure errors give none."""
    runs = TestRun.objects.current().filter(implementation=OuterRef("pk"), state=RunState.DONE).order_by("-pk")
    tests_label = Case(
        When(**{outcome: Outcome.PASSED.value}, then=Value(Label.CC.value)),
        When(**{outcome: ""}, then=None),
        default=Value(REST),
        output_field=CharField(),
    )
    return Case(
        *left_out,
        default=Subquery(runs.annotate(tests_label=tests_label).values("tests_label")[:1]),
        output_field=CharField(),
    )


def _reviewed() -> QuerySet[ReviewCase]:
    """Select all cases that are not void."""
    return ReviewCase.objects.filter(kind=CaseKind.REVIEW).exclude(state=CaseState.VOID)


def _rounds() -> QuerySet[ReviewCase]:
    """Select the cases of an answer that are not void."""
    return _reviewed().filter(implementation=OuterRef("pk"))


def _closed_rounds() -> QuerySet[ReviewCase]:
    """Select the closed cases: labels of open cases are not counted, since the answer is still to be labelled blind."""
    return _rounds().filter(state__in=CLOSED)


def _first_rounds() -> QuerySet[ReviewCase]:
    """Select every answer's earliest case that is not void, if it is closed: only its labels were given blind."""
    cases = ReviewCase.objects.filter(kind=CaseKind.REVIEW)
    earlier = cases.filter(implementation=OuterRef("implementation"), round__lt=OuterRef("round"))
    return cases.filter(~Exists(earlier.exclude(state=CaseState.VOID)), state__in=CLOSED)


def _newest(rounds: QuerySet[ReviewCase], field: str) -> Subquery:
    return Subquery(rounds.order_by("-round").values(field)[:1])


def _blind_label(place: int) -> Subquery:
    labels = Review.objects.filter(
        case__implementation=OuterRef("pk"), role=Role.ANNOTATOR, case__in=_first_rounds()
    ).order_by("locked", "pk")
    return Subquery(labels.values("label")[place : place + 1])


_LABELS_OF: Final = {
    FIRST_LABEL: lambda: _blind_label(0),
    SECOND_LABEL: lambda: _blind_label(1),
    DECISION: lambda: _newest(_closed_rounds().filter(decision__isnull=False), "decision__label"),
}


def _blind_labels(entries: QuerySet[Entry]) -> dict[str, Rows]:
    """Return the parts of annotators: papers with how many answers got which labels, and who labelled them."""
    cases = _first_rounds().filter(implementation__submission__in=entries.values("submission"))
    labels = Review.objects.filter(role=Role.ANNOTATOR, case__in=cases).order_by()
    place = "case__implementation__"
    given = labels.values_list(f"{place}{_ANSWERS_PAPER}", f"{place}{_CATEGORY}", "case__implementation").annotate(
        **{f"number_{label}": Count("pk", filter=Q(label=label)) for label in LABELS}
    )
    items = Counter((paper, category, *numbers) for paper, category, _, *numbers in given)
    return {
        _ITEMS: tuple((*item, answers) for item, answers in items.items()),
        _ANNOTATORS: tuple(labels.values_list("reviewer", f"{place}{_CATEGORY}").distinct()),
    }
