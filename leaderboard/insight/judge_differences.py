"""Compute how a board would change with another judge: labels that differ, and ranks that would change."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Case, CharField, Count, F, FilteredRelation, Q, Value, When
from django.shortcuts import get_object_or_404

from benchmark_tasks.models import Suite
from evaluator.enums import WorkState
from evaluator.labels import Label
from evaluator.models import Judgement
from leaderboard.board.blocks import counted_in_blocks
from leaderboard.board.labels import ABSTAINED, COUNTED
from leaderboard.board.rows import visible_entries
from leaderboard.models import Entry
from submissions.enums import Kind
from submissions.models import Implementation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import QuerySet
    from django.http import HttpRequest

    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import JudgeConfig
    from leaderboard.board.blocks import Rows

LABELLED_CC: Final = Label.CC.value
LISTED: Final = 500
"""Most rows, and most answers, that are listed."""
_PAIRS, _MOVED, _ROWS = "pairs", "moved", "rows"
"""The parts of a block's counts."""


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A ranked row: the tasks, out of ``tasks``, that each judge labels CC, and the rank. Equal rates share a rank."""

    entry: Entry
    tasks: int
    before: float
    after: float
    before_rank: int = 0
    after_rank: int = 0


@dataclass(frozen=True, slots=True)
class JudgesCompared:
    """Two judges on the published answers of a suite version.

    ``matrix`` has a row for each label of the old judge and a column for each of the new one, both in the order of
    ``COUNTED``, over answers that both have decided (``both``). ``waiting`` counts the answers that the new one has not
    decided yet, out of ``answers`` with code. ``moves`` counts the answers that they label differently; ``moved`` has
    those of the newest submissions, with both labels. ``ranks`` has the best rows under the new judge, of those with a
    label by either; ``ranks_that_move`` counts those of them that would have another rank. Both lists have at most
    :data:`LISTED`.
    """

    answers: int
    both: int
    waiting: int
    moves: int
    moved: list[tuple[Implementation, str, str]]
    matrix: list[tuple[str, list[int]]]
    ranks: list[RankedRow]
    ranks_that_move: int


def compare(*, version: SuiteVersion, old: JudgeConfig | None, new: JudgeConfig) -> JudgesCompared:
    """Compare two judges' labels of all answers on the board of ``version``.

    Only published answers are used: the page is public, and the board shows no others. Three queries; another five for
    each block of submissions whose counts are not kept (``board.blocks``).
    """
    found: dict[str, list[Sequence[Any]]] = defaultdict(list)
    entries, judges = visible_entries().filter(suite_version=version), (old.pk if old else None, new.pk)
    for part, *values in counted_in_blocks(entries, partial(_count, judges=judges), "differences", *judges):
        found[part].append(values)
    pairs = Counter[tuple[str | None, str | None]]()
    for before, after, number in found[_PAIRS]:
        pairs[before, after] += number
    both = {pair: number for pair, number in pairs.items() if None not in pair}
    ranks, moving = _ranks(found[_ROWS])
    return JudgesCompared(
        answers=pairs.total(),
        both=sum(both.values()),
        waiting=sum(number for (_, after), number in pairs.items() if after is None),
        moves=sum(number for (before, after), number in both.items() if before != after),
        moved=_moved(found[_MOVED]),
        matrix=[(row, [pairs[row, column] for column in COUNTED]) for row in COUNTED],
        ranks=ranks,
        ranks_that_move=moving,
    )


def _count(entries: QuerySet[Entry], *, judges: tuple[int | None, int]) -> Rows:
    """Return how many answers have which two labels, those that differ, and each judged row's tasks labelled CC."""
    answers: QuerySet[Any] = Implementation.objects.filter(
        submission__in=entries.values("submission"), attempted=True, files__isnull=False
    ).order_by()
    for name, judge in zip(("before", "after"), judges, strict=True):
        answers = _with_label(answers, name, judge)
    differ = answers.filter(before__isnull=False, after__isnull=False).exclude(before=F("after"))
    newest = differ.order_by("-submission", "pk").values_list("submission", "pk", "before", "after")[:LISTED]
    return (
        *((_PAIRS, *row) for row in answers.values_list("before", "after").annotate(Count("pk"))),
        *((_MOVED, *row) for row in newest),
        *((_ROWS, *row) for row in _count_rows(entries, answers)),
    )


def _with_label(answers: QuerySet[Any], name: str, judge: int | None) -> QuerySet[Any]:
    """Add a judge's label as ``name``, ``abstained`` if it gave none; None without a verdict."""
    if judge is None:
        unknown: QuerySet[Any] = answers.annotate(**{name: Value(None, output_field=CharField())})
        return unknown
    done, row = Q(judgements__config=judge, judgements__state=WorkState.DONE), f"{name}_row"
    label = Case(
        When(**{f"{row}__isnull": True}, then=None),
        When(Q(**{f"{row}__abstained": True}) | Q(**{f"{row}__label": ""}), then=Value(ABSTAINED)),
        default=F(f"{row}__label"),
        output_field=CharField(),
    )
    found: QuerySet[Any] = answers.annotate(**{row: FilteredRelation("judgements", condition=done)})
    labelled: QuerySet[Any] = found.annotate(**{name: label})
    return labelled


def _count_rows(entries: QuerySet[Entry], answers: QuerySet[Any]) -> Iterable[tuple[Any, ...]]:
    """Yield entry, counted tasks, and the tasks that each judge labels CC; calibration samples are never ranked."""
    judged = answers.filter(Q(before__isnull=False) | Q(after__isnull=False))
    by_submission: dict[int, list[tuple[str, str | None, str | None]]] = defaultdict(list)
    for submission, *labels in judged.values_list("submission", "revision__task__slug", "before", "after"):
        by_submission[submission].append((labels[0], labels[1], labels[2]))
    ranked = entries.filter(submission__in=by_submission, metrics__category=None, metrics__tasks__gt=0)
    ranked = ranked.filter(kind=Kind.RANKED).order_by()
    names = ("pk", "submission", "submission__trials", "metrics__tasks", "left_out")
    for entry, submission, trials, tasks, left_out in ranked.values_list(*names):
        absent = {each["task"] for each in left_out}
        counted = [labels for task, *labels in by_submission[submission] if task not in absent]
        before, after = (sum(labels[place] == LABELLED_CC for labels in counted) / trials for place in (0, 1))
        yield entry, tasks, before, after


def _moved(rows: Iterable[Sequence[Any]]) -> list[tuple[Implementation, str, str]]:
    """Read the answers of the newest submissions, by system, submission and task. One query."""
    newest = sorted(rows, key=lambda row: (-row[0], row[1]))[:LISTED]
    labels = {answer: (before, after) for _, answer, before, after in newest}
    answers = (
        Implementation.objects.filter(pk__in=labels)
        .select_related("submission__system", "revision__task__paper")
        .order_by(
            *("submission__system__name", "submission_id"),
            *("revision__task__paper__folder_name", "revision__task__index", "trial"),
        )
        .defer("files", "diff", "goal_source", "raw_answer", "set_aside", "revision__masked_source")
    )
    return [(answer, *labels[answer.pk]) for answer in answers]


def _ranks(rows: Sequence[Sequence[Any]]) -> tuple[list[RankedRow], int]:
    """Return the best of the ``rows`` in their new order, and how many of all would have another rank. One query.

    Rows that neither judge has labelled are not among them: they share the last rank with both.
    """
    places = [_places([row[place] / row[1] for row in rows]) for place in (2, 3)]
    ranked = sorted(zip(rows, *places, strict=True), key=lambda each: (each[2], each[0][0]))
    moving = sum(old != new for _, old, new in ranked)
    best = ranked[:LISTED]
    entries = Entry.objects.select_related("system", "submission").in_bulk([row[0] for row, _, _ in best])
    listed = [
        RankedRow(entries[entry], tasks, before, after, old, new)
        for (entry, tasks, before, after), old, new in best
        if entry in entries
    ]
    return sorted(listed, key=lambda row: (row.after_rank, row.entry.system.name.casefold(), row.entry.pk)), moving


def _places(rates: list[float]) -> list[int]:
    """Return the rank of each rate, 1 for the highest; rates that are equal up to rounding errors share a rank."""
    rounded = [round(rate, 9) for rate in rates]
    first: dict[float, int] = {}
    for place, rate in enumerate(sorted(rounded, reverse=True), start=1):
        first.setdefault(rate, place)
    return [first[rate] for rate in rounded]


def requested_suite(request: HttpRequest, config: JudgeConfig) -> Suite | None:
    """Return the suite that the address names, else that with most of the judge's public verdicts. Raises Http404."""
    named = request.GET.get("suite", "")
    if named:
        return get_object_or_404(Suite, slug=named)
    judged = Counter[int]()
    for suite, number in counted_in_blocks(
        visible_entries(), partial(_count_by_suite, judge=config.pk), "judged", config.pk
    ):
        judged[suite] += number
    suites = Suite.objects.order_by("position", "slug")
    return max(suites, key=lambda suite: judged[suite.pk], default=None)


def _count_by_suite(entries: QuerySet[Entry], *, judge: int) -> Rows:
    """Count a judge's verdicts by the ids of suites."""
    verdicts = Judgement.objects.filter(
        config=judge, state=WorkState.DONE, implementation__submission__in=entries.values("submission")
    )
    by_suite = verdicts.order_by().values_list("implementation__submission__suite_version__suite")
    return tuple(by_suite.annotate(Count("pk")))
