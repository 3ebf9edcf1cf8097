"""Write the citation of a snapshot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from leaderboard.models import Snapshot
    from leaderboard.models.snapshots import FrozenSuite

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
    """Make a snapshot's citation; ``address`` is its page, ``site`` the name of this instance."""
    return cite(
        snapshot.document["suite"],
        number=snapshot.number,
        title=snapshot.title,
        day=snapshot.created,
        archive=snapshot.archive,
        address=address,
        site=site,
    )


def cite(
    suite: FrozenSuite, *, number: int, title: str, day: datetime, archive: str, address: str, site: str
) -> Citation:
    """Make the citation of a snapshot of ``suite`` that was, or would be, frozen on ``day``."""
    whole = f"{suite['title']} board, snapshot {number}: {title}"
    key = re.sub(r"[^a-z0-9]", "", suite["slug"]) + f"snapshot{number}"
    note = f"Suite version {suite['version']}. SHA-256 of the data: {archive}"
    bibtex = f"""@misc{{{key},
  title        = {{{{{_latex(whole)}}}}},
  author       = {{{{{_latex(site)}}}}},
  year         = {{{day:%Y}}},
  month        = {f"{day:%b}".lower()},
  howpublished = {{\\url{{{address}}}}},
  note         = {{{_latex(note)}}}
}}"""
    facts = f"suite version {suite['version']}, SHA-256 {archive}"
    return Citation(bibtex, f"{site}. {whole}. Frozen {day.day} {day:%B %Y}. {address} ({facts})")


def _latex(text: str) -> str:
    """Escape the characters that LaTeX would interpret."""
    return "".join(_SPECIAL.get(character, character) for character in text)
