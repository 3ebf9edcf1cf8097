"""What an attack is, and what must come of it. Imported by the lists of attacks; ``firing`` fires them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from evaluator.sandbox.types import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Group(StrEnum):
    """What an attack is after."""

    CONTROL = "control"
    RESOURCES = "resources"
    ESCAPE = "escape"
    TAMPERING = "tampering"
    PATCH = "patch"
    UPLOAD = "upload"


class Way(StrEnum):
    """Where an attack meets the evaluator: a protocol, a bare box, or the check of what is sent in."""

    SEALED = "sealed"
    REMOTE = "upstream remote"
    IN_PROCESS = "upstream in-process"
    BOX = "bare box"
    CHECKER = "upload check"


REFUSED, BAD_PATCH, ACCEPTED, INFRA, ESCAPED = "refused", "bad_patch", "accepted", "infra", "escaped"


class Expected(NamedTuple):
    """How an attack must end: with one of ``outcomes`` and a reason that holds ``says``."""

    outcomes: frozenset[str]
    says: str = ""


def ends(*outcomes: str, says: str = "") -> Expected:
    """``Expected`` in short."""
    return Expected(frozenset(outcomes), says)


@dataclass(frozen=True, slots=True)
class Attack:
    """One hostile thing: a short unique name, and its end by each way it goes."""

    name: str
    group: Group
    expected: Mapping[Way, Expected]


@dataclass(frozen=True, slots=True)
class AnswerAttack(Attack):
    """A goal file that is graded like any answer, ``runs`` times.

    Its log must then report at least ``held`` tries that failed, and none that did not (``library``).
    """

    source: str = ""
    wall_seconds: float = 20.0
    runs: int = 1
    held: int = 0


@dataclass(frozen=True, slots=True)
class ProgramAttack(Attack):
    """A program that is run in a box as it is, without the driver; its outcome is the box's ending."""

    code: str = ""
    stdin_bytes: int = 0
    limits: Limits = field(default_factory=lambda: Limits(wall_seconds=20.0, cpu_seconds=20))


@dataclass(frozen=True, slots=True)
class PairAttack(Attack):
    """Two programs in two boxes at once: ``sender`` knows ``SECRET``, ``receiver`` prints what it can make out of it.

    ``SECRET`` is a text of 64 zeros and ones, all ones where ``exhausts``. The sender prints a line when it has sent,
    and keeps its box until the receiver has ended.
    """

    sender: str = ""
    receiver: str = ""
    exhausts: bool = False


@dataclass(frozen=True, slots=True)
class PatchAttack(Attack):
    """A diff, to be applied to the masked repository of the task."""

    diff: bytes = b""


@dataclass(frozen=True, slots=True)
class UploadAttack(Attack):
    """A file as it would be uploaded; it is made when needed, since some are large."""

    make: Callable[[], bytes] = bytes
