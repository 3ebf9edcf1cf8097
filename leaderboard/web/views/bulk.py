"""Serve all public answers of a suite as one file."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from django.http import FileResponse, Http404
from django.shortcuts import get_object_or_404, render
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from benchmark_tasks.models import Suite
from leaderboard.board.rows import visible_entries
from leaderboard.board.visibility import require_open
from leaderboard.sharing.answer_files.archive import current
from leaderboard.web.closed_pages import closes

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

_RETRY_AFTER_SECONDS = "60"


@require_safe
@closes
def answers(request: HttpRequest, suite: str) -> HttpResponseBase:
    """Download every public answer with its outcome and labels. Closed to annotators who are labelling an answer."""
    found = get_object_or_404(Suite, slug=suite)
    # The whole file is closed, since no answer can be left out of an existing file.
    require_open(request)
    file = current(found)
    if file is None:
        return _not_yet(request, found)
    tag = quote_etag(file.digest)
    response: HttpResponseBase | None = get_conditional_response(request, etag=tag)
    if response is None:
        name = f"{found.slug}-answers.zip"
        try:
            response = FileResponse(
                file.file.open("rb"), as_attachment=True, filename=name, content_type="application/zip"
            )
        except FileNotFoundError:
            return _not_yet(request, found)
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "no-cache"
    patch_vary_headers(response, ["Cookie"])
    return response


def _not_yet(request: HttpRequest, suite: Suite) -> HttpResponse:
    """Answer that a worker is writing the file. Raises Http404 if nothing is published."""
    if not visible_entries().filter(suite_version__suite=suite).exists():
        raise Http404("Nothing is published on this suite yet, so there are no answers to download.")
    response = render(
        request, "leaderboard/answers_waiting.html", {"suite": suite}, status=HTTPStatus.SERVICE_UNAVAILABLE
    )
    response.headers["Retry-After"] = _RETRY_AFTER_SECONDS
    response.headers["Cache-Control"] = "no-store"
    return response
