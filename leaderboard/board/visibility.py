"""Decide what is hidden from a viewer who is labelling: every number of the submissions that she holds an answer of.

The rule for pages, files, pictures, feeds and operations alike:

- a row of such a submission is shown without numbers (:func:`without_numbers`), its pages are closed;
- what is computed from rows for the viewer leaves it out (``rows.visible_entries``);
- what was computed before, over a whole board (rank bands, analysis reports, snapshots, files), is closed.
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

_ASKED = "_unlocked"


class AnswerClosedError(Exception):
    """The viewer has the assignments ``closed`` and must not see this yet."""

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
    """Return what the viewer has to label of a submission, a task or a suite; all of it where none is named.

    Empty where everything is open. One query a request, none for visitors without an account.
    """
    known: list[Assignment] | None = getattr(request, _ASKED, None)
    if known is None:
        known = list(unlocked_assignments(request.user))
        setattr(request, _ASKED, known)
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
    """Raise :class:`AnswerClosedError` where :func:`closed` finds something."""
    found = closed(request, submission=submission, task=task, suite=suite)
    if found:
        raise AnswerClosedError(found)


def without_numbers(rows: Iterable[BoardRow], hidden: Collection[int]) -> list[BoardRow]:
    """Return the rows for a viewer from whom the submissions ``hidden`` are hidden: of these the names and no number.

    No row has a rank then, since the ranks of the others show how these did.
    """
    if not hidden:
        return list(rows)
    nothing = dict.fromkeys(("tests", "judge", "human", "final", "cost", "tokens"))
    closed = {**nothing, "trial_passes": (), "marks": Marks(), "closed": True}
    unranked = (row.model_copy(update={"rank": None, "stamp": row.stamp and f"{row.stamp} unranked"}) for row in rows)
    return [row.model_copy(update=closed) if row.submission in hidden else row for row in unranked]
