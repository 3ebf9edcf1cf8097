"""Cache anonymous visitors' pages, one rendering per version of their data, with ETag and 304."""

from __future__ import annotations

import gzip
from functools import wraps
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from django.conf import settings
from django.core.cache import caches
from django.http import HttpResponse
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import quote_etag

from leaderboard.board.caching import PAGES, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

MOST_QUERY: Final = 500
"""Longest query string, in characters, of a cached page."""
MOST_KEPT: Final = 1_000_000
"""Most bytes of a cached page, compressed. A board has 40 kB; only files of very many rows are larger."""


def kept_by(
    version: Callable[..., str | None], *, parameters: Collection[str] | None = None
) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Cache a view's responses to anonymous visitors while ``version``, called with the same arguments, is unchanged.

    For views whose pages contain nothing specific to a visitor: only GET forms, no relative times. A version of None
    disables caching. ``parameters`` are the query parameters that the view reads (None: all); others are ignored.
    """

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            query = request.META.get("QUERY_STRING", "")
            if parameters is not None:
                query = urlencode([(name, value) for name in parameters for value in request.GET.getlist(name)])
            anonymous = settings.SESSION_COOKIE_NAME not in request.COOKIES and "messages" not in request.COOKIES
            known = version(request, *args, **kwargs) if anonymous and len(query) <= MOST_QUERY else None
            if known is None:
                response = view(request, *args, **kwargs)
                response.headers.setdefault("Cache-Control", "private, no-cache")
                return response
            zipped = "gzip" in request.headers.get("Accept-Encoding", "")
            # Pages contain absolute addresses, so scheme and host are part of the key.
            site = request.scheme, request.get_host()
            key = key_of(known, site, request.path, query, request.headers.get("HX-Request", ""))[:32]
            tag = f"{key}-gzip" if zipped else key
            unchanged = get_conditional_response(request, etag=quote_etag(tag))
            if unchanged is not None:
                return _with_headers(unchanged, tag)
            kept, plain = caches[PAGES].get(key), None
            if kept is None:
                response = view(request, *args, **kwargs)
                if response.status_code != HttpResponse.status_code or response.cookies:
                    return response
                headers = {name: value for name, value in response.items() if name.startswith(("Content-", "HX-"))}
                # The page contains no visitor's data, so its compressed length reveals nothing (BREACH).
                plain = response.content
                kept = gzip.compress(plain, 6, mtime=0), headers
                if len(kept[0]) <= MOST_KEPT:
                    caches[PAGES].set(key, kept)
            content, headers = kept
            if zipped:
                return _with_headers(HttpResponse(content, headers={**headers, "Content-Encoding": "gzip"}), tag)
            return _with_headers(HttpResponse(plain or gzip.decompress(content), headers=headers), tag)

        return answer

    return decorate


def _with_headers(response: HttpResponse, tag: str) -> HttpResponse:
    response.headers["ETag"] = quote_etag(tag)
    response.headers["Cache-Control"] = "no-cache"
    patch_vary_headers(response, ("Accept-Encoding", "Cookie", "HX-Request"))
    return response


class TextGZipMiddleware(GZipMiddleware):
    """Compress text responses with random padding against BREACH. Streamed files and other types are left unchanged."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        if response.streaming or not (kind.startswith("text/") or kind.endswith(("json", "xml"))):
            return response
        return super().process_response(request, response)
