"""Hide what is known of an answer from whoever is labelling it. Every page that shows an answer's ratings asks here."""

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
    from submissions.models import Implementation, Submission

_Response = TypeVar("_Response", bound="HttpResponseBase")
_ASKED = "_unlocked"


class AnswerClosedError(Exception):
    """Whoever asks is labelling the answer of ``closed`` and must not see this yet."""

    def __init__(self, closed: list[Assignment]) -> None:
        super().__init__("An answer is hidden from whoever labels it.")
        self.closed = closed


def closed(
    request: HttpRequest,
    *,
    answer: Implementation | None = None,
    submission: Submission | None = None,
    task: Task | None = None,
    suite: Suite | None = None,
) -> list[Assignment]:
    """What whoever asks has to label of an answer, a submission, a task or a suite; all of it where none is named.

    Empty where everything is open. One query a request, none for strangers.
    """
    known: list[Assignment] | None = getattr(request, _ASKED, None)
    if known is None:
        known = list(unlocked(request.user))
        setattr(request, _ASKED, known)
    return [
        each
        for each in known
        if (answer is None or each.case.implementation_id == answer.pk)
        and (submission is None or each.case.implementation.submission_id == submission.pk)
        and (task is None or each.case.implementation.revision.task_id == task.pk)
        and (suite is None or each.case.implementation.revision.task.suite_id == suite.pk)
    ]


def closed_answers(request: HttpRequest) -> frozenset[int]:
    """Ids of the answers that lists leave out for whoever asks."""
    return frozenset(each.case.implementation_id for each in closed(request))


def closed_submissions(request: HttpRequest) -> frozenset[int]:
    """Ids of the submissions of which whoever asks is labelling an answer."""
    return frozenset(each.case.implementation.submission_id for each in closed(request))


def require_open(
    request: HttpRequest,
    *,
    answer: Implementation | None = None,
    submission: Submission | None = None,
    task: Task | None = None,
    suite: Suite | None = None,
) -> None:
    """Raise :class:`AnswerClosedError` where :func:`closed` finds something.

    Counts that a list explains are closed with the whole suite: less what the list leaves out, they tell of it.
    """
    found = closed(request, answer=answer, submission=submission, task=task, suite=suite)
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
