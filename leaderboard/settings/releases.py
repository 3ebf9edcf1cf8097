"""Read the table of releases: the migrations that each ends with, and what operators have to know of it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = Path(__file__).with_name("releases.toml")
UNRELEASED: Final = "unreleased"


@dataclass(frozen=True, slots=True)
class Release:
    """A release, or with the version ``unreleased`` what follows the newest one.

    ``stops`` and ``contracts`` give, by migration, why code of the release before cannot run beside it, or why it can
    although the operations look as if it could not. ``copies``: folders below ``DATA_DIR`` that a migration copies.
    """

    version: str
    todo: str
    downtime: str
    rolling_back: str
    leaves: Mapping[str, str] = field(default_factory=dict)
    copies: tuple[str, ...] = ()
    stops: Mapping[str, str] = field(default_factory=dict)
    contracts: Mapping[str, str] = field(default_factory=dict)


@cache
def releases() -> tuple[Release, ...]:
    """Return every release, oldest first; the last one may be unreleased."""
    return tuple(Release(**each) for each in tomllib.loads(FILE.read_text(encoding="utf-8"))["releases"])


def version() -> str:
    """Return the version of this code: ``0.9.0``, or ``0.9.0+unreleased`` if changes follow that release."""
    *_, newest = (each.version for each in releases() if each.version != UNRELEASED)
    return f"{newest}+{UNRELEASED}" if releases()[-1].version == UNRELEASED else newest
