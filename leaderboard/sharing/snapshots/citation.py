"""Write the citation of a snapshot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from leaderboard.models import Snapshot

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}


@dataclass(frozen=True, slots=True)
class Citation:
    """A snapshot as BibTeX and as a sentence."""

    bibtex: str
    plain: str


def citation(snapshot: Snapshot, *, address: str, site: str) -> Citation:
    """Make the citation; ``address`` is the snapshot's page, ``site`` the name of this instance."""
    suite, day = snapshot.document["suite"], snapshot.created
    title = f"{suite['title']} board, snapshot {snapshot.number}: {snapshot.title}"
    key = re.sub(r"[^a-z0-9]", "", suite["slug"]) + f"snapshot{snapshot.number}"
    note = f"Suite version {suite['version']}. SHA-256 of the data: {snapshot.archive}"
    bibtex = f"""@misc{{{key},
  title        = {{{{{_latex(title)}}}}},
  author       = {{{{{_latex(site)}}}}},
  year         = {{{day:%Y}}},
  month        = {f"{day:%b}".lower()},
  howpublished = {{\\url{{{address}}}}},
  note         = {{{_latex(note)}}}
}}"""
    facts = f"suite version {suite['version']}, SHA-256 {snapshot.archive}"
    return Citation(bibtex, f"{site}. {title}. Frozen {day.day} {day:%B %Y}. {address} ({facts})")


def _latex(text: str) -> str:
    """Escape the characters that LaTeX would interpret."""
    return "".join(_SPECIAL.get(character, character) for character in text)
