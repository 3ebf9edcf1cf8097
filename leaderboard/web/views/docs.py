"""The documentation in ``docs/`` as pages of the site: Markdown for people, the same files as in the repository.

Its folders ``design/`` and ``decisions/`` are for readers of the repository: the site lists and serves none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from django.http import FileResponse, Http404
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from leaderboard.settings.environment import PROJECT_ROOT
from submissions import markdown as markdown_rules

if TYPE_CHECKING:
    from pathlib import Path

    from django.http import HttpRequest, HttpResponse
    from markdown_it.token import Token

FOLDER: Final = PROJECT_ROOT / "docs"
IMAGE_TYPES: Final = {".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}

_ORDER: Final = (
    "glossary",
    "submitting",
    "api",
    "endpoints",
    "judging",
    "agreement",
    "analysis",
    "reviewing",
    "authoring-tasks",
    "lmr-bench",
    "operating",
    "configuration",
    "commands",
    "sandboxes",
    "protocols",
    "security",
    "contributing",
    "architecture",
    "development",
)
_PAGES_OF_THEIR_OWN: Final = {"index": "docs", "about": "about"}


@dataclass(frozen=True, slots=True)
class Page:
    """One rendered file. ``body`` is safe HTML and begins with the title as h1."""

    slug: str
    title: str
    body: str


def page_slugs() -> list[str]:
    """The pages in their fixed order; files that the order does not know come last, by name."""
    found = {path.stem for path in FOLDER.glob("*.md")} - _PAGES_OF_THEIR_OWN.keys()
    return [slug for slug in _ORDER if slug in found] + sorted(found - set(_ORDER))


def stored_page(slug: str) -> Page | None:
    """The page of ``docs/<slug>.md``; None when there is no such file. ``slug`` must be a plain slug."""
    file = FOLDER / f"{slug}.md"
    if not file.is_file():
        return None
    return _rendered(file, file.stat().st_mtime_ns)


def address_of(slug: str) -> str:
    """Where the page of ``docs/<slug>.md`` is on the site."""
    name = _PAGES_OF_THEIR_OWN.get(slug)
    return reverse(name) if name else reverse("docs_page", args=[slug])


@lru_cache(maxsize=64)
def _rendered(file: Path, modified: int) -> Page:  # noqa: ARG001 - part of the cache's key
    return page_of(file.read_text(encoding="utf-8"), slug=file.stem)


def page_of(markdown: str, *, slug: str) -> Page:
    """Markdown as a page: headings with anchors, code with colours, links between files as links between pages."""
    rendered = markdown_rules.render(markdown, rewrite=_rewrite_addresses)
    return Page(slug, rendered.title or slug, rendered.body)


def _rewrite_addresses(token: Token) -> None:
    if token.type == "link_open":
        address = _site_address(str(token.attrGet("href") or ""))
        if address:
            token.attrSet("href", address)
        else:
            # A file that the site does not serve: its name stays as text.
            token.attrs.pop("href", None)
    elif token.type == "image":
        token.attrSet("src", _image_address(str(token.attrGet("src") or "")))


def _site_address(target: str) -> str:
    """The address on the site of what a file in docs/ links to; empty when the site does not have it."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or target.startswith(("#", "/")):
        return target
    match = re.fullmatch(r"(?:\./)?([a-z0-9-]+)\.md", parts.path)
    if match is None or not (FOLDER / f"{match[1]}.md").is_file():
        return ""
    return address_of(match[1]) + (f"#{parts.fragment}" if parts.fragment else "")


def _image_address(source: str) -> str:
    match = re.fullmatch(r"(?:\./)?images/([A-Za-z0-9._-]+)", source)
    return reverse("docs_image", args=[match[1]]) if match else source


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The documentation's first page."""
    return _shown(request, "index", "leaderboard/docs.html")


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """One page of the documentation."""
    if slug not in page_slugs():
        raise Http404(f"There is no page “{slug}” in the documentation.")
    return _shown(request, slug, "leaderboard/docs.html")


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """What is measured, how, and by whom."""
    return _shown(request, "about", "leaderboard/about.html")


@require_safe
def image(request: HttpRequest, name: str) -> FileResponse:  # noqa: ARG001 - Django's signature
    """An image of the documentation."""
    images = {path.name: path for path in (FOLDER / "images").glob("*")}
    file = images.get(name)
    if file is None or file.suffix not in IMAGE_TYPES:
        raise Http404("There is no such image in the documentation.")
    return FileResponse(file.open("rb"), content_type=IMAGE_TYPES[file.suffix])


def _shown(request: HttpRequest, slug: str, template: str) -> HttpResponse:
    shown = stored_page(slug)
    if shown is None:
        raise Http404(f"docs/{slug}.md is missing from this installation.")
    pages = [found for each in page_slugs() if (found := stored_page(each))]
    context = {
        "page": shown,
        "body": mark_safe(shown.body),  # noqa: S308 - cleaned by nh3
        "navigation": [(each.title, address_of(each.slug), each.slug == slug) for each in pages],
    }
    return render(request, template, context)
