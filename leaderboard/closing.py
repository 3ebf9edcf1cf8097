"""Decide what is hidden from a viewer who is labelling: every number of the submissions that she holds an answer of.

The rule for pages, files, pictures, feeds and operations alike:

- a row of such a submission is shown without numbers (``board.hidden_rows``), its pages are closed;
- what is computed from rows for the viewer leaves it out (``board.visible_entries``);
- what was computed before, over a whole board (rank bands, analysis reports, snapshots, files), is closed.
"""

from __future__ import annotations

from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

from reviews.labelling.blindness import unlocked

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from benchmark_tasks.models import Suite, Task
    from reviews.models import Assignment
    from submissions.models import Submission

_Response = TypeVar("_Response", bound="HttpResponseBase")
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
        known = list(unlocked(request.user))
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


def closes(view: Callable[..., _Response]) -> Callable[..., _Response | HttpResponse]:
    """Answer :class:`AnswerClosedError` with a page that says why, and until when (status 403)."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> _Response | HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except AnswerClosedError as error:
            context = {"closed": error.closed}
            response = render(request, "leaderboard/closed.html", context, status=HTTPStatus.FORBIDDEN)
            add_never_cache_headers(response)
            return response

    return guarded
