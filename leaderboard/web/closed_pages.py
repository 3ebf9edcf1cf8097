"""Show annotators a page with the reason when they request something hidden from them."""

from __future__ import annotations

from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from django.shortcuts import render
from django.utils.cache import add_never_cache_headers

from leaderboard.board.visibility import AnswerClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

_Response = TypeVar("_Response", bound="HttpResponseBase")


def closes(view: Callable[..., _Response]) -> Callable[..., _Response | HttpResponse]:
    """Answer :class:`AnswerClosedError` with a page that gives the reason and the end of the restriction (403)."""

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
