"""An attack and its expected outcomes. The lists of attacks import it; ``Range.fire`` fires them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Group(StrEnum):
    """The target of an attack."""

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
    """A goal file that is graded like any answer, ``runs`` times under each protocol in ``outcomes``.

    It must end with one of the protocol's outcomes, and under the sealed protocol with a reason that contains
    ``reason_part``. Its log must report at least ``held`` failed tries, and no successful one (``library``).
    """

    name: str
    group: Group
    source: str
    outcomes: Mapping[Way, frozenset[str]]
    reason_part: str = ""
    wall_seconds: float = 20.0
    runs: int = 1
    held: int = 0


def sealed(*outcomes: str) -> Mapping[Way, frozenset[str]]:
    """Expect one of these outcomes under the sealed protocol, and do not use another protocol."""
    return {Way.SEALED: frozenset(outcomes)}
