"""Wrap the API's views: errors as problem details, rate limit headers, conditional requests, size limits, HEAD."""

from __future__ import annotations

from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.cache import add_never_cache_headers, patch_cache_control, patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import conditional_page

from leaderboard.api.problems import Kind, ProblemError, answer, answer_to, too_large

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase
    from django.urls import URLPattern

    View = Callable[..., HttpResponseBase]


def _guarded(view: View) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = _response(view, request, *args, **kwargs)
        for facts in filter(None, (getattr(request, name, None) for name in ("api_usage", "api_deprecation"))):
            for name, value in facts.headers.items():
                response[name] = value
        patch_vary_headers(response, ["Authorization"])
        if request.headers.get("Authorization") or response.status_code >= HTTPStatus.BAD_REQUEST:
            add_never_cache_headers(response)
        else:
            # Caches must revalidate each time, so that hidden data does not survive in them.
            patch_cache_control(response, no_cache=True)
        return response

    return csrf_exempt(_with_head(conditional_page(guarded)))


def _with_head(view: View) -> View:
    """Answer HEAD as GET; the server leaves the body out."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        method, request.method = request.method, "GET" if request.method == "HEAD" else request.method
        response = view(request, *args, **kwargs)
        request.method = method
        return response

    return answered


def _response(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    try:
        _refuse_large(request)
        response = view(request, *args, **kwargs)
    except Exception as error:  # noqa: BLE001 - the API's last resort: every error is answered as a problem
        return answer_to(request, error)
    if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = response.headers["Allow"]
        headers = {"Allow": f"{allowed}, HEAD" if "GET" in allowed else allowed}
        return answer(ProblemError(Kind.WRONG_METHOD, f"This address accepts {allowed}.", headers=headers))
    return response


def _refuse_large(request: HttpRequest) -> None:
    """Refuse an oversized body before reading it. File uploads have their own limits."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if request.content_type != "multipart/form-data" and length.isdigit() and int(length) > limit:
        raise too_large()


def missing(request: HttpRequest, **_: Any) -> HttpResponseBase:
    """Answer 404 for an unknown address below the API's."""
    detail = f"{request.path[:200]} is not an address of this API. /api/v1/docs/ lists all addresses."
    return answer(ProblemError(Kind.NOT_FOUND, detail))


def all_answered(patterns: list[URLPattern]) -> list[URLPattern]:
    """Wrap the view of each pattern in the API's error, limit and cache handling."""
    for pattern in patterns:
        pattern.callback = _guarded(pattern.callback)
    return patterns
