"""Closing single answers to whoever labels one of their suite. Every page that shows an answer's ratings asks here.

Numbers of whole board rows stay open, since no single answer can be read off them, unless they are of few answers
(:mod:`leaderboard.board.closed_rows`). Numbers of one category are closed: many a category has one task only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

from benchmark_tasks.models import Suite
from reviews.labelling.blindness import closed_suites, unlocked

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from reviews.models import Assignment
    from submissions.models import Submission

_Response = TypeVar("_Response", bound="HttpResponseBase")
_ASKED = "_closed_suites"


class AnswersClosedError(Exception):
    """Whoever asks is labelling an answer of ``suite_id`` and must not see this yet."""

    def __init__(self, suite_id: int) -> None:
        super().__init__(f"The answers of suite {suite_id} are closed to whoever labels one of them.")
        self.suite_id = suite_id


@dataclass(frozen=True, slots=True)
class Closed:
    """Why a page, or a part of it, is closed: what the person who asks has in hand."""

    suite: Suite
    assignments: tuple[Assignment, ...]


def closed_to(request: HttpRequest) -> frozenset[int]:
    """Ids of the suites whose single answers are closed to whoever asks. One query a request, none for strangers."""
    known: frozenset[int] | None = getattr(request, _ASKED, None)
    if known is None:
        known = closed_suites(request.user)
        setattr(request, _ASKED, known)
    return known


def closed(request: HttpRequest, suite_id: int) -> Closed | None:
    """What to say instead of the answers of a suite; None where they are open. No query more where they are."""
    if suite_id not in closed_to(request):
        return None
    held = unlocked(request.user).filter(case__implementation__submission__suite_version__suite=suite_id)
    return Closed(suite=Suite.objects.get(pk=suite_id), assignments=tuple(held.order_by("pk")))


def closed_submission(request: HttpRequest, submission: Submission) -> Closed | None:
    """As :func:`closed`, for the answers of one submission. One's own stay open: nobody labels one's own answers."""
    if submission.owner_id == request.user.pk:
        return None
    return closed(request, submission.suite_version.suite_id)


def require_open(request: HttpRequest, submission: Submission) -> None:
    """Raise :class:`AnswersClosedError` where the answers of ``submission`` are closed to whoever asks."""
    suite_id = submission.suite_version.suite_id
    if submission.owner_id != request.user.pk and suite_id in closed_to(request):
        raise AnswersClosedError(suite_id)


def closes(view: Callable[..., _Response]) -> Callable[..., _Response | HttpResponse]:
    """Answer :class:`AnswersClosedError` with a page that says what is closed, why and until when (status 403)."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> _Response | HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except AnswersClosedError as error:
            context = {"closed": closed(request, error.suite_id)}
            response = render(request, "leaderboard/closed.html", context, status=HTTPStatus.FORBIDDEN)
            add_never_cache_headers(response)
            return response

    return guarded
