"""The values in files of labels: each reader checks one, from text (CSV) or JSON alike, or raises ``ValueError``.

The messages continue a sentence that begins with the column's name.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from evaluator.judging.labels import Label
from reviews.enums import CaseKind, CaseState, ErrorClass, FinalSource, FindingSide, ReasonCode, Role, TriggerKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

LARGEST: Final = 2**31 - 1
MOST_FINDINGS: Final = 500
LEAST_SHARE: Final = 1e-6
"""Of an inclusion probability: its inverse weighs the answer."""
KINDS: Final = (CaseKind.REVIEW.value, CaseKind.REPEAT.value)
STATES: Final = (CaseState.AGREED.value, CaseState.FINAL.value, CaseState.REOPENED.value)
LABELS: Final = tuple(label.value for label in Label)
SOURCES: Final = (FinalSource.DECISION.value, FinalSource.AGREED.value, FinalSource.SINGLE.value)
ROLES: Final = tuple(Role.values)
FINDING: Final = ("side", "start", "end", "text", "error_class")
TRIGGER: Final = ("kind", "inclusion_probability")


def one_of(allowed: Collection[str]) -> Callable[[Any], str]:
    """A reader of a text that is one of ``allowed``."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            msg = f"must be one of {', '.join(repr(each) for each in allowed)}, not {_shown(value)}"
            raise ValueError(msg)
        return value

    return read


def text(longest: int, *, needed: bool = False) -> Callable[[Any], str]:
    """A reader of a text of at most so many characters that every database can store."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            msg = f"must be a text, not {_shown(value)}"
            raise ValueError(msg)  # noqa: TRY004 - one kind of error for all that is wrong in a file
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            msg = "holds a character that cannot be stored (NUL, or half of a pair); remove it"
            raise ValueError(msg)
        if len(value) > longest or (needed and not value):
            msg = f"must have {1 if needed else 0} to {longest} characters, and has {len(value)}"
            raise ValueError(msg)
        return value

    return read


def whole(smallest: int, largest: int) -> Callable[[Any], int]:
    """A reader of a whole number, from ``smallest`` to ``largest``."""

    def read(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value, re.ASCII):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not smallest <= value <= largest:
            msg = f"must be a whole number from {smallest} to {largest}, not {_shown(value)}"
            raise ValueError(msg)
        return value

    return read


def or_none(reader: Callable[[Any], int]) -> Callable[[Any], int | None]:
    """What ``reader`` reads, or null, which is an empty cell in CSV."""

    def read(value: Any) -> int | None:
        return None if value in (None, "") else reader(value)

    return read


def uuid(value: Any) -> UUID:
    """Read an identifier."""
    try:
        return UUID(value) if isinstance(value, str) else _refuse_identifier(value)
    except ValueError:
        return _refuse_identifier(value)


def _refuse_identifier(value: Any) -> UUID:
    msg = f"must be an identifier such as 1b4e28ba-2fa1-11d2-883f-0016d3cca427, not {_shown(value)}"
    raise ValueError(msg)


def moment(value: Any) -> datetime:
    """Read a time with its zone, as ISO 8601 writes it."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        if found is not None and found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    msg = f"must be a time with its zone, such as 2026-11-22T09:30:00Z, not {_shown(value)}"
    raise ValueError(msg)


def reasons(value: Any) -> str:
    """Read a decision's reason codes, separated by commas, into the order in which a decision keeps them; or none."""
    given = [] if value == "" else value.split(",") if isinstance(value, str) else [value]
    chosen = [one_of(ReasonCode.values)(each) for each in given]
    return ",".join(code for code in ReasonCode.values if code in chosen)


def triggers(value: Any) -> list[dict[str, Any]]:
    """Read why the case was there: each kind once, with the probability by which it was drawn."""
    rows = _members(value, TRIGGER, len(TriggerKind.values))
    for row in rows:
        share = row["inclusion_probability"]
        one_of(TriggerKind.values)(row["kind"])
        if isinstance(share, bool) or not isinstance(share, int | float) or not LEAST_SHARE <= share <= 1:
            msg = f"must have inclusion probabilities from {LEAST_SHARE} to 1, not {_shown(share)}"
            raise ValueError(msg)
        row["inclusion_probability"] = float(share)
    if len({row["kind"] for row in rows}) != len(rows):
        msg = "must name each kind once"
        raise ValueError(msg)
    return rows


def findings(value: Any) -> list[dict[str, Any]]:
    """Read findings: lines of a side, 1-based, both ends included, and what is said of them."""
    rows = _members(value, FINDING, MOST_FINDINGS)
    for row in rows:
        one_of(FindingSide.values)(row["side"])
        one_of((*ErrorClass.values, ""))(row["error_class"])
        text(100_000)(row["text"])
        lines = [row["start"], row["end"]]
        if not all(isinstance(line, int) and not isinstance(line, bool) for line in lines) or not (
            1 <= lines[0] <= lines[1] <= LARGEST
        ):
            msg = f"must have lines that begin with 1 and end where they begin or later, not {_shown(lines)}"
            raise ValueError(msg)
    return rows


def _members(value: Any, names: tuple[str, ...], most: int) -> list[dict[str, Any]]:
    """``value`` as a list of objects with exactly these ``names``, in this order, whatever order they came in."""
    if not isinstance(value, list) or len(value) > most:
        msg = f"must be a JSON list of at most {most} objects"
        raise ValueError(msg)
    if not all(isinstance(row, dict) and set(row) == set(names) for row in value):
        msg = f"must be a JSON list of objects with the members {', '.join(names)}"
        raise ValueError(msg)
    return [{name: row[name] for name in names} for row in value]


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
