"""Show the documentation's pages and images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.http import FileResponse, Http404
from django.shortcuts import redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from leaderboard.web import documentation

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

IMAGE_TYPES: Final = {".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Show the documentation's first page."""
    return _shown(request, "index")


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one page of the documentation; redirect if it has another address."""
    if slug in documentation.URL_NAMES:
        return redirect(documentation.address_of(slug), permanent=True)
    if slug not in documentation.page_slugs():
        raise Http404(f"There is no page “{slug}” in the documentation.")
    return _shown(request, slug)


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """Show what is measured, how, and by whom."""
    return _shown(request, "about")


@require_safe
def image(request: HttpRequest, name: str) -> FileResponse:  # noqa: ARG001 - Django's signature
    """Serve an image of the documentation."""
    images = {path.name: path for path in (documentation.FOLDER / "images").glob("*")}
    file = images.get(name)
    if file is None or file.suffix not in IMAGE_TYPES:
        raise Http404("There is no such image in the documentation.")
    return FileResponse(file.open("rb"), content_type=IMAGE_TYPES[file.suffix])


def _shown(request: HttpRequest, slug: str) -> HttpResponse:
    shown = documentation.stored_page(slug)
    if shown is None:
        raise Http404(f"docs/{slug}.md is missing from this installation.")
    context = {
        "page": shown,
        "body": mark_safe(shown.body),  # noqa: S308 - cleaned by nh3
        "navigation": [
            (reader, [(each.title, documentation.address_of(each.slug), each.slug == slug) for each in pages])
            for reader, pages in documentation.groups()
            if pages
        ],
    }
    return render(request, "leaderboard/docs.html", context)
