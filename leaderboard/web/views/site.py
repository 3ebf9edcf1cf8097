"""Serve the site's own pages: server errors, password reset, favicon, robots.txt and the site map."""

from __future__ import annotations

import re
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from allauth.account.views import password_reset as password_reset_by_email
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from benchmark_tasks.domain.queries import current_version, revisions_of
from benchmark_tasks.models import Suite
from leaderboard.board.rows import visible_entries
from leaderboard.evidence.cases import public_cases
from leaderboard.health.storage_errors import means_full, means_unreadable
from leaderboard.insight.analysis.figures import BY_SLUG as FIGURES
from leaderboard.insight.published_answers import published_answers
from leaderboard.settings.logs import REQUEST_ID
from leaderboard.web.documentation import page_slugs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

_SECRET: Final = re.compile(r"password|token|key", re.IGNORECASE)
MOST_OF_A_KIND: Final = 10_000
"""Pages of one kind in the site map, which may list at most 50,000 pages."""

# Account pages, pages that need an account, actions, search, and every filter of a page that computes statistics.
PRIVATE: Final = (
    *("/accounts/", "/endpoints/", "/judges/new/", "/maintain/", "/my/", "/submit/*/", "/reviews/join/"),
    *("/reviews/label/", "/reviews/people/", "/reviews/profile/", "/agreement/*?", "/board/*?", "/cases/?", "/search/"),
)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return a page with the request's id; if the disk is full or the storage fails, one that repeats typed values."""
    error = sys.exc_info()[1]
    full = means_full(error)
    if not full and not means_unreadable(error):
        # Without the request: context processors may need what is broken.
        shown = {"request_id": request.META.get(REQUEST_ID, "")}
        return render(None, "500.html", shown, status=HTTPStatus.INTERNAL_SERVER_ERROR)
    typed = [(name, value) for name, value in request.POST.items() if value and not _SECRET.search(name)]
    status = HTTPStatus.INSUFFICIENT_STORAGE if full else HTTPStatus.SERVICE_UNAVAILABLE
    response = render(None, "unstored.html", {"typed": typed, "full": full}, status=status)
    response.headers["Retry-After"] = "60"
    return response


def password_reset(request: HttpRequest) -> HttpResponseBase:
    """Send a reset e-mail; without an e-mail server, explain that an operator resets passwords."""
    if settings.EMAIL_CONFIGURED:
        response: HttpResponseBase = password_reset_by_email(request)
        return response
    return render(request, "account/password_reset_by_operator.html")


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """Redirect to the icon, for browsers that ignore the page's link to it."""
    return redirect(static("img/favicon.svg"))


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    """Allow search engines to index all public pages."""
    closed = "".join(f"Disallow: {path}\n" for path in PRIVATE)
    text = f"User-agent: *\n{closed}\nSitemap: {request.build_absolute_uri(reverse('sitemap'))}\n"
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_safe
def sitemap(request: HttpRequest) -> HttpResponse:
    """Return the site map of public pages (sitemaps.org)."""
    addresses = [request.build_absolute_uri(path) for path in _paths()]
    return render(request, "leaderboard/sitemap.xml", {"addresses": addresses}, content_type="application/xml")


def _paths() -> Iterator[str]:
    for name in ("board_default", "suites", "upload", "judges", "cases", "reviews", "docs", "about", "status"):
        yield reverse(name)
    for slug in page_slugs():
        yield reverse("docs_page", args=[slug])
    for suite in Suite.objects.all():
        yield from (reverse(name, args=[suite.slug]) for name in ("board", "analysis", "agreement", "suite"))
        if published_answers(suite.slug).verdicts:
            yield reverse("published_answers", args=[suite.slug])
        version = current_version(suite)
        yield from (reverse("figure", args=[suite.slug, name]) for name in FIGURES) if version else ()
        for revision in revisions_of(version)[:MOST_OF_A_KIND] if version else ():
            yield reverse("task", args=[suite.slug, revision.task.paper.slug, revision.task.index])
    systems = visible_entries().order_by("system__slug").values_list("system__slug", flat=True).distinct()
    for slug in systems[:MOST_OF_A_KIND]:
        yield reverse("system", args=[slug])
    for case in public_cases().order_by("-pk").values_list("pk", flat=True)[:MOST_OF_A_KIND]:
        yield reverse("case", args=[case])
