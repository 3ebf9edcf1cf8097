"""Every public answer to one task, and how hard the task is: from the rows' marks, sorted and paged by the database."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from django.db.models import Case, Exists, F, FloatField, OuterRef, Q, TextField, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Lower, NullIf
from django.urls import reverse

from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.outcomes import Outcome
from leaderboard.board.matrix import cells, said_of
from leaderboard.board.row import TestsCell
from leaderboard.board.rows import board_row, is_visible, visible_entries
from leaderboard.board.visibility import without_numbers
from leaderboard.models import Entry, ReportedResult
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from django.db.models import Func, QuerySet
    from django.utils.safestring import SafeString

    from benchmark_tasks.models import SuiteVersion, Task
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow

LABELS: Final = ("CC", "LC", "LI", "A", "M")
SORTS: Final = ("system", "inputs", "tests", "judge", "human", "date")
DEFAULT_SORT: Final = "-tests"


class TrialOutcome(NamedTuple):
    """How one trial ended."""

    trial: int
    address: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """One row's answer: its marks as on the matrix, and how each trial ended, or what was ``reported``.

    ``cell`` is None where nothing is known of single tasks.
    """

    row: BoardRow
    cell: SafeString | None
    judge: str
    human: str
    trials: tuple[TrialOutcome, ...]
    reported: ReportedResult | None

    @property
    def passed(self) -> int:
        """How many trials passed."""
        return sum(each.outcome == Outcome.PASSED for each in self.trials)


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What the ranked rows say of a task: tests passed with their interval, and how often each label was given.

    Null or empty where nobody said anything.
    """

    tests: TestsCell | None
    judge: tuple[tuple[str, int, float], ...]
    human: tuple[tuple[str, int, float], ...]


def answers_to(version: SuiteVersion, task: Task) -> QuerySet[Entry]:
    """The rows of ``version`` that answer ``task``."""
    told = ReportedResult.objects.filter(run=OuterRef("reported_run"), task=task)
    answering = Q(submission__isnull=False) | Q(Exists(told))
    return visible_entries().filter(answering, suite_version=version)


def in_order(
    entries: QuerySet[Entry], place: MatrixTask, sort: str, *, hidden: Collection[int] = ()
) -> QuerySet[Entry]:
    """``entries`` by one of :data:`SORTS`, samples last, then by name; what is not known is last either way.

    What raters say of the submissions ``hidden`` does not decide their place.
    """
    name = Lower("system__name")
    value: F | Func | Case = name if sort.removeprefix("-") == "system" else _value(sort.removeprefix("-"), place)
    if hidden and sort.removeprefix("-") in {"tests", "judge", "human"}:
        value = Case(When(submission__in=hidden, then=Value(None)), default=value)
    asked = value.desc(nulls_last=True) if sort.startswith("-") else value.asc(nulls_last=True)
    rows = entries.select_related("system", "submission", "reported_run")
    return rows.order_by(F("kind").desc(), asked, name, "pk")


def _value(key: str, place: MatrixTask) -> F | Func | Case:
    if key in {"inputs", "date"}:
        return F(key)
    said = KT(f"marks__{key}__{place.place}")
    # SQLite writes JSON's null as a word.
    return (
        Cast(NullIf(said, Value("null"), output_field=TextField()), FloatField())
        if key == "tests"
        else NullIf(said, Value(""), output_field=TextField())
    )


def task_answers(
    entries: Iterable[Entry], place: MatrixTask, task: Task, *, hidden: Collection[int] = ()
) -> list[TaskAnswer]:
    """What pages show of some rows; of the submissions ``hidden`` no more than where the answers are. Two queries."""
    listed = list(entries)
    trials = _outcomes(task, [entry.submission_id for entry in listed if entry.submission_id])
    told = ReportedResult.objects.filter(task=task, run__in=[each.reported_run_id for each in listed])
    reported = {each.run_id: each for each in told}
    found = []
    for entry in listed:
        (row,) = without_numbers([board_row(entry, None, 0)], hidden)
        marked = cells(row, [place])
        _, judge, human = said_of(row, place)
        result = reported.get(entry.reported_run_id or 0)
        found.append(
            TaskAnswer(
                row=row,
                cell=marked[0][1] if marked else None,
                judge=judge or (result.judge_label if result else ""),
                human=human or (result.human_label if result else ""),
                trials=tuple(trials.get(entry.submission_id or 0, ())),
                reported=result,
            )
        )
    return found


def _outcomes(task: Task, submissions: Collection[int]) -> dict[int, list[TrialOutcome]]:
    """How each trial of ``submissions`` at ``task`` ended."""
    runs = TestRun.objects.current().filter(
        state=RunState.DONE, implementation__revision__task=task, implementation__submission__in=submissions
    )
    # Answers and logs may be megabytes each. One answer has one result, whatever happened to its runs.
    fields = ("implementation__submission", "implementation__trial", "outcome")
    newest = {(submission, trial): outcome for submission, trial, outcome in runs.order_by("pk").values_list(*fields)}
    found: dict[int, list[TrialOutcome]] = defaultdict(list)
    for (submission, trial), outcome in sorted(newest.items()):
        address = reverse("implementation", args=[submission, task.paper.slug, task.index, trial])
        found[submission].append(TrialOutcome(trial, address, Outcome(outcome)))
    return found


def difficulty_of(entries: QuerySet[Entry], place: MatrixTask, *, hidden: Collection[int] = ()) -> Difficulty:
    """How hard the task is for the ranked ones of ``entries`` that are not ``hidden`` from the viewer. One query."""
    keys = [f"marks__{rater}__{place.place}" for rater in ("tests", "judge", "human")]
    shown = entries.filter(is_visible(hidden=hidden), kind=Kind.RANKED)
    said = list(shown.order_by().values_list(*keys))
    shares = [share for share, _, _ in said if share is not None]
    cell = TestsCell.counted(sum(shares), len(shares)) if shares else None
    return Difficulty(cell, _shares(judge for _, judge, _ in said), _shares(human for _, _, human in said))


def _shares(labels: Iterable[str | None]) -> tuple[tuple[str, int, float], ...]:
    """(Label, how often, percentage) of each that was given."""
    counts = Counter(filter(None, labels))
    return tuple((label, counts[label], 100 * counts[label] / counts.total()) for label in LABELS if counts[label])
