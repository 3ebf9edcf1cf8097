"""The documentation and the about page, from the same Markdown files that lie in the repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import FileResponse, Http404
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from leaderboard import documentation

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The documentation's first page."""
    return _shown(request, "index", "leaderboard/docs.html")


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """One page of the documentation."""
    if slug not in documentation.page_slugs():
        raise Http404(f"There is no page “{slug}” in the documentation.")
    return _shown(request, slug, "leaderboard/docs.html")


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """What is measured, how, and by whom."""
    return _shown(request, "about", "leaderboard/about.html")


@require_safe
def image(request: HttpRequest, name: str) -> FileResponse:  # noqa: ARG001 - Django's signature
    """An image of the documentation."""
    images = {path.name: path for path in (documentation.FOLDER / "images").glob("*")}
    file = images.get(name)
    if file is None or file.suffix not in documentation.IMAGE_TYPES:
        raise Http404("There is no such image in the documentation.")
    return FileResponse(file.open("rb"), content_type=documentation.IMAGE_TYPES[file.suffix])


def _shown(request: HttpRequest, slug: str, template: str) -> HttpResponse:
    shown = documentation.page(slug)
    if shown is None:
        raise Http404(f"docs/{slug}.md is missing from this installation.")
    pages = [page for each in documentation.page_slugs() if (page := documentation.page(each))]
    context = {
        "page": shown,
        "body": mark_safe(shown.body),  # noqa: S308 - cleaned by nh3
        "navigation": [(each.title, documentation.address_of(each.slug), each.slug == slug) for each in pages],
    }
    return render(request, template, context)
