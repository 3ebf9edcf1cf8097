"""Open the cell of a board: one row's answer to one task, with its neighbours along the row and along the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse

from benchmark_tasks.models import TaskRevision
from leaderboard.board.matrix import answer_address, has_marks, tasks_of
from leaderboard.board.rows import board_row, is_visible, named
from leaderboard.board.stepping import rows_around
from leaderboard.board.visibility import closed_submissions, require_open
from leaderboard.models import EntryMetric

if TYPE_CHECKING:
    from django.http import HttpRequest

    from benchmark_tasks.models import Suite
    from leaderboard.board.matrix import MatrixTask
    from leaderboard.board.row import BoardRow
    from leaderboard.models import Entry


class Step(NamedTuple):
    """A link to a neighbouring cell: the key that follows it, its title and address."""

    key: str
    title: str
    address: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A row's answer to a task. ``page`` is the address of the answer's own page, or of what is known about it."""

    entry: Entry
    row: BoardRow
    task: MatrixTask
    revision: TaskRevision
    page: str
    steps: tuple[Step, ...]

    @property
    def suite(self) -> Suite:
        """The board's suite."""
        return self.entry.suite_version.suite

    @property
    def totals_only(self) -> bool:
        """Whether no result of a single task is known of the row."""
        return not has_marks(self.row)


def open_cell(request: HttpRequest, suite: str, key: str, paper: str, index: int) -> Cell:
    """Return the cell of the published row ``key`` of a suite's board and the task ``paper``/``index``.

    Raises Http404, and AnswerClosedError if the row's submission is hidden from the viewer.
    """
    related = ("entry__system", "entry__suite_version__suite", "entry__submission", "entry__reported_run__remeasures")
    found = EntryMetric.objects.filter(is_visible("entry__"), named([key]), category=None)
    metric = get_object_or_404(found.select_related(*related), entry__suite_version__suite__slug=suite)
    entry = metric.entry
    if entry.submission:
        require_open(request, submission=entry.submission)
    tasks = tasks_of(entry.suite_version)
    place = next((place for place, task in enumerate(tasks) if (task.paper, task.index) == (paper, index)), None)
    if place is None:
        raise Http404("This version of the suite has no such task.")
    task, row = tasks[place], board_row(entry, metric, 0)
    revisions = TaskRevision.objects.select_related("task__paper", "task__suite", "category")
    around = rows_around(metric, hidden=closed_submissions(request))
    before, after = tasks[place - 1] if place else None, tasks[place + 1] if place + 1 < len(tasks) else None
    steps = (
        *(_step(arrow, row, each, each.slug) for arrow, each in (("Left", before), ("Right", after)) if each),
        *(
            _step(arrow, each, task, each.title_with_inputs)
            for arrow, each in (("Up", around.above), ("Down", around.below))
            if each
        ),
    )
    return Cell(
        entry=entry,
        row=row,
        task=task,
        revision=revisions.get(suite_versions=entry.suite_version, task__paper__slug=paper, task__index=index),
        page=answer_address(row)(task),
        steps=steps,
    )


def _step(arrow: str, row: BoardRow, task: MatrixTask, title: str) -> Step:
    return Step(f"Arrow{arrow}", title, reverse("evidence", args=[task.suite, row.key, task.paper, task.index]))
