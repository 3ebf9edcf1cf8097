"""Compare systems: the difference of each pair, and every rater's result for each task."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.outcomes import Outcome
from leaderboard.board.columns import DEFAULT_SORT, sorted_metrics
from leaderboard.board.matrix import results_on
from leaderboard.board.row import title_with_inputs
from leaderboard.board.rows import board_metrics, shown_metrics
from leaderboard.models import ReportedResult
from leaderboard.statistics.intervals import p_text
from leaderboard.statistics.paired import Pair, compare, holm
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from django.utils.safestring import SafeString

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow
    from leaderboard.statistics.coefficients import Array

FEWEST, MOST = 2, 4
LISTED: Final = 500
"""Number of rows in the choice of systems; addresses may name any row."""
SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Compared:
    """Two rows, their difference (None: no task has a result of both), and p adjusted for the number of pairs shown."""

    first: BoardRow
    second: BoardRow
    pair: Pair | None
    adjusted: float | None
    number: int

    @property
    def apart(self) -> bool:
        """Whether the adjusted p is below 0.05."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANT

    @property
    def p_words(self) -> str:
        """The adjusted p: ``p = 0.69``; empty without a comparison."""
        if self.adjusted is None:
            return ""
        p = p_text(self.adjusted)
        return f"p {p}" if p.startswith("<") else f"p = {p}"

    @property
    def p_meaning(self) -> str:
        """What the p of the only pair means, in a sentence; empty without a comparison."""
        if self.adjusted is None:
            return ""
        found = round(100 * self.adjusted)
        often = f"{found} of 100" if found else "fewer than 1 of 100"
        return f"If both were equally good, a difference this large or larger would appear in {often} such comparisons."

    @property
    def words(self) -> str:
        """The comparison in a sentence."""
        names = self.first.title_with_inputs, self.second.title_with_inputs
        if self.first.closed or self.second.closed:
            return f"{names[0]} and {names[1]} cannot be compared while you label an answer of one of them."
        if self.pair is None or self.adjusted is None:
            return f"{names[0]} and {names[1]} cannot be compared: no task has a published result of both."
        tasks = f"these {self.pair.tasks} tasks" if self.pair.tasks > 1 else "the 1 task that both have"
        (most, better), (least, worse) = sorted(
            zip((self.pair.more_a, self.pair.more_b), names, strict=True), key=lambda each: -each[0]
        )
        if not most:
            return f"{names[0]} and {names[1]} do equally well on {tasks}."
        several = max(self.first.trials, self.second.trials) > 1
        by = ("more often by {}", "{} more often by {}") if several else ("by {} only", "{} by {} only")
        verb = "is" if most == 1 else "are"
        solved = f"{most} of {tasks} {verb} solved {by[0].format(better)}, {by[1].format(least or 'none', worse)}"
        if self.apart:
            return f"{solved}: a fair coin rarely does as well, so {better} is better."
        return f"{solved}: a fair coin does as well."


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task with mark and words of each row; ``discordant`` if the tests of two rows differ."""

    task: MatrixTask
    pairs: tuple[tuple[SafeString | None, tuple[str, str, str]], ...]
    discordant: bool


def offered(version: SuiteVersion, hidden: Collection[int] = ()) -> list[tuple[str, str]]:
    """Return the best rows of a board as choices: key, and name with inputs and score. One query.

    Rows of the submissions ``hidden`` from the viewer are last, without a score.
    """
    listed = sorted_metrics(board_metrics(version, kind=Kind.RANKED), DEFAULT_SORT, hidden=hidden)[:LISTED]
    run = ("entry__reported_run__slug", "entry__reported_run__remeasures")
    fields = ("entry__submission", *run, "entry__system__name", "entry__inputs", "tests_rate")
    return [
        (
            f"s{submission}" if submission else f"r-{slug}",
            title_with_inputs(name, inputs, again=bool(published))
            + ("" if rate is None or submission in hidden else f" ({100 * rate:.1f})"),
        )
        for submission, slug, published, name, inputs, rate in shown_metrics(listed).values_list(*fields)
    ]


def compared(rows: Sequence[BoardRow], tasks: Sequence[MatrixTask]) -> list[Compared]:
    """Compare every pair of ``rows``, with p adjusted for the number of pairs (Holm)."""
    scores = [_scores(row, tasks) for row in rows]
    papers = np.unique([task.paper for task in tasks], return_inverse=True)[1].tolist()
    pairs = [(one, two, compare(scores[one], scores[two], papers)) for one, two in combinations(range(len(rows)), 2)]
    adjusted = iter(holm([pair.p for _, _, pair in pairs if pair]))
    known = sum(pair is not None for _, _, pair in pairs)
    return [Compared(rows[one], rows[two], pair, next(adjusted) if pair else None, known) for one, two, pair in pairs]


def task_lines(
    rows: Sequence[BoardRow], tasks: Sequence[MatrixTask], cells: Sequence[Sequence[tuple[MatrixTask, SafeString]]]
) -> list[TaskLine]:
    """Return the tasks with a result of any row, discordant ones first; ``cells`` are the marks of each row.

    Two queries.
    """
    marks = [{task.slug: cell for task, cell in each} for each in cells]
    not_applying = _not_applying(rows)
    lines = []
    for task in tasks:
        shares = {results_on(row, task)[0] for row in rows} - {None}
        pairs = tuple(
            (each.get(task.slug), _words(row, task, applies=(row.key, task.slug) not in not_applying))
            for each, row in zip(marks, rows, strict=True)
        )
        if any(result for _, words in pairs for result in words):
            lines.append(TaskLine(task, pairs, discordant=len(shares) > 1))
    return sorted(lines, key=lambda line: not line.discordant)


def _scores(row: BoardRow, tasks: Sequence[MatrixTask]) -> Array:
    shares = [results_on(row, task)[0] for task in tasks]
    return np.array([np.nan if share is None else share for share in shares], dtype=np.float64)


def _not_applying(rows: Sequence[BoardRow]) -> set[tuple[str, str]]:
    """Return (row key, task) of the answers that do not apply to the masked repository, of rows with one trial."""
    shown = [row for row in rows if not row.closed and row.trials == 1]
    runs = TestRun.objects.current().filter(
        state=RunState.DONE,
        outcome=Outcome.BAD_PATCH,
        implementation__submission__in=[row.submission for row in shown if row.submission],
    )
    slugs = [row.key.removeprefix("r-") for row in shown if row.remeasures]
    reported = ReportedResult.objects.filter(run__slug__in=slugs, outcome=Outcome.BAD_PATCH)
    task = "revision__task__slug"
    found = {
        (f"s{key}", slug) for key, slug in runs.values_list("implementation__submission", f"implementation__{task}")
    }
    return found | {(f"r-{key}", slug) for key, slug in reported.values_list("run__slug", "task__slug")}


def _words(row: BoardRow, task: MatrixTask, *, applies: bool) -> tuple[str, str, str]:
    """Return the results of tests, judge and annotators in short."""
    share, judge, human = results_on(row, task)
    if share is None:
        tests = ""
    elif row.trials > 1:
        tests = f"{round(share * row.trials)}/{row.trials}"
    else:
        tests = "passed" if share else "failed" if applies else Outcome.BAD_PATCH.words
    return tests, judge, human
