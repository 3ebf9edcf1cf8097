"""Decide what is hidden from a viewer who is labelling: every number of the submissions with an assigned answer.

The rule for pages, files, pictures, feeds and the API's operations alike:

- a row of such a submission is shown without numbers (:func:`without_numbers`), its pages are closed;
- whatever is computed from rows for the viewer excludes it (``rows.visible_entries``);
- whatever was computed earlier over a whole board (rank bands, analysis reports, snapshots, files) is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leaderboard.models.board import Marks
from reviews.labelling.blindness import unlocked_assignments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from django.http import HttpRequest

    from benchmark_tasks.models import Suite, Task
    from leaderboard.board.row import BoardRow
    from reviews.models import Assignment
    from submissions.models import Submission

_ATTRIBUTE = "_unlocked"
"""The attribute of a request that caches the viewer's assignments."""


class AnswerClosedError(Exception):
    """Raised for data that are hidden from the viewer until the assignments ``closed`` are labelled."""

    def __init__(self, closed: list[Assignment]) -> None:
        super().__init__("A submission is hidden from an annotator who labels one of its answers.")
        self.closed = closed


def closed(
    request: HttpRequest,
    *,
    submission: Submission | None = None,
    task: Task | None = None,
    suite: Suite | None = None,
) -> list[Assignment]:
    """Return the viewer's unlabelled assignments of a submission, a task or a suite; of all if none is given.

    Empty if nothing is hidden. One query per request, none for visitors without an account.
    """
    known: list[Assignment] | None = getattr(request, _ATTRIBUTE, None)
    if known is None:
        # Even an empty query takes time to build, and every visitor's board would pay it.
        known = list(unlocked_assignments(request.user)) if request.user.is_authenticated else []
        setattr(request, _ATTRIBUTE, known)
    return [
        each
        for each in known
        if (submission is None or each.case.implementation.submission_id == submission.pk)
        and (task is None or each.case.implementation.revision.task_id == task.pk)
        and (suite is None or each.case.implementation.revision.task.suite_id == suite.pk)
    ]


def closed_submissions(request: HttpRequest) -> frozenset[int]:
    """Return the ids of the submissions whose numbers are hidden from the viewer."""
    return frozenset(each.case.implementation.submission_id for each in closed(request))


def require_open(
    request: HttpRequest,
    *,
    submission: Submission | None = None,
    task: Task | None = None,
    suite: Suite | None = None,
) -> None:
    """Raise :class:`AnswerClosedError` if :func:`closed` finds an assignment."""
    found = closed(request, submission=submission, task=task, suite=suite)
    if found:
        raise AnswerClosedError(found)


def without_numbers(rows: Iterable[BoardRow], hidden: Collection[int]) -> list[BoardRow]:
    """Return the rows without the numbers of the submissions ``hidden`` from the viewer; their names stay.

    If there are hidden ones, no row has a rank, since the ranks of the others reveal their results.
    """
    if not hidden:
        return list(rows)
    numbers = dict.fromkeys(("tests", "judge", "human", "final", "cost", "tokens"))
    closed = {**numbers, "trial_passes": (), "marks": Marks(), "closed": True}
    unranked = (row.model_copy(update={"rank": None, "stamp": row.stamp and f"{row.stamp} unranked"}) for row in rows)
    return [row.model_copy(update=closed) if row.submission in hidden else row for row in unranked]
