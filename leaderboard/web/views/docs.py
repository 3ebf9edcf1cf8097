"""Render the Markdown files of ``docs/`` as pages of the site.

The folders ``design/`` and ``decisions/`` are for readers of the repository; the site neither lists nor serves them.
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
# The files with a URL of their own: slug to URL name.
_URL_NAMES: Final = {"index": "docs", "about": "about"}


@dataclass(frozen=True, slots=True)
class Page:
    """One rendered file. ``body`` is safe HTML and begins with the title as h1."""

    slug: str
    title: str
    body: str


def page_slugs() -> list[str]:
    """Return the pages' slugs in their fixed order; files without a place in it follow by name."""
    found = {path.stem for path in FOLDER.glob("*.md")} - _URL_NAMES.keys()
    return [slug for slug in _ORDER if slug in found] + sorted(found - set(_ORDER))


def stored_page(slug: str) -> Page | None:
    """Return the page of ``docs/<slug>.md``, or None if there is no such file. ``slug`` must be a plain slug."""
    file = FOLDER / f"{slug}.md"
    if not file.is_file():
        return None
    return _rendered(file, file.stat().st_mtime_ns)


def address_of(slug: str) -> str:
    """Return the site address of ``docs/<slug>.md``."""
    name = _URL_NAMES.get(slug)
    return reverse(name) if name else reverse("docs_page", args=[slug])


@lru_cache(maxsize=64)
def _rendered(file: Path, modified: int) -> Page:  # noqa: ARG001 - part of the cache's key
    return page_of(file.read_text(encoding="utf-8"), slug=file.stem)


def page_of(markdown: str, *, slug: str) -> Page:
    """Render Markdown as a page: anchors on headings, highlighted code, links between files as links between pages."""
    rendered = markdown_rules.render(markdown, rewrite=_rewrite_addresses)
    return Page(slug, rendered.title or slug, rendered.body)


def _rewrite_addresses(token: Token) -> None:
    if token.type == "link_open":
        address = _site_address(str(token.attrGet("href") or ""))
        if address:
            token.attrSet("href", address)
        else:
            # The site does not serve this file, so its name stays as plain text.
            token.attrs.pop("href", None)
    elif token.type == "image":
        token.attrSet("src", _image_address(str(token.attrGet("src") or "")))


def _site_address(target: str) -> str:
    """Return the site address of a link in a docs/ file; empty if the site does not serve the target."""
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
    """Show the documentation's first page."""
    return _shown(request, "index", "leaderboard/docs.html")


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one page of the documentation."""
    if slug not in page_slugs():
        raise Http404(f"There is no page “{slug}” in the documentation.")
    return _shown(request, slug, "leaderboard/docs.html")


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """Show what is measured, how, and by whom."""
    return _shown(request, "about", "leaderboard/about.html")


@require_safe
def image(request: HttpRequest, name: str) -> FileResponse:  # noqa: ARG001 - Django's signature
    """Serve an image of the documentation."""
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
