"""What an attack is, and what must come of it. Imported by the lists of attacks; ``Range.fire`` fires them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Group(StrEnum):
    """What an attack is after."""

    CONTROL = "control"
    RESOURCES = "resources"
    ESCAPE = "escape"
    TAMPERING = "tampering"


class Way(StrEnum):
    """The protocol by which a hostile goal file is graded."""

    SEALED = "sealed"
    UPSTREAM = "upstream"


@dataclass(frozen=True, slots=True)
class Attack:
    """A goal file that is graded like any answer, ``runs`` times, by each of its ways.

    It must end with one of the outcomes of the way, and by the sealed protocol with a reason that holds ``says``. Its
    log must then report at least ``held`` tries that failed, and none that did not (``library``).
    """

    name: str
    group: Group
    source: str
    outcomes: Mapping[Way, frozenset[str]]
    says: str = ""
    wall_seconds: float = 20.0
    runs: int = 1
    held: int = 0


def sealed(*outcomes: str) -> Mapping[Way, frozenset[str]]:
    """Only the sealed protocol, to end with one of these."""
    return {Way.SEALED: frozenset(outcomes)}
