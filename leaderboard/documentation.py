"""The documentation in ``docs/``: Markdown for people in the repository, the same files as pages of the site."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from django.urls import reverse

from leaderboard.settings.environment import PROJECT_ROOT
from submissions import markdown as markdown_rules

if TYPE_CHECKING:
    from pathlib import Path

    from markdown_it.token import Token

FOLDER: Final = PROJECT_ROOT / "docs"
IMAGE_TYPES: Final = {".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}

_ORDER: Final = (
    "glossary",
    "submitting",
    "endpoints",
    "judging",
    "agreement",
    "reviewing",
    "authoring-tasks",
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


def page(slug: str) -> Page | None:
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
    return render(file.read_text(encoding="utf-8"), slug=file.stem)


def render(markdown: str, *, slug: str) -> Page:
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
