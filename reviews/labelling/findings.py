"""Validate labels and their findings before they are stored or locked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from evaluator.enums import LABEL_CHOICES
from evaluator.labels import Label
from reviews.enums import Confidence, FindingSide
from reviews.exceptions import IncompleteError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_FINDINGS: Final = 50
LONGEST_TEXT: Final = 2_000
LONGEST_NOTE: Final = 10_000
LABELS: Final = tuple(value for value, _ in LABEL_CHOICES)
LONGEST_TYPED_NUMBER: Final = 12
"""Characters of a line number as entered."""
_LONGEST_NUMBER: Final = 9


class Finding(TypedDict):
    """An error and its place: 1-based, inclusive lines of one side as shown."""

    side: str
    start: int
    end: int
    text: str
    error_class: str


class Given(NamedTuple):
    """A complete label."""

    label: str
    confidence: int
    findings: list[Finding]
    note: str


class TypedLabel(NamedTuple):
    """A label as entered, complete or not. ``findings`` have text values, in the order sent."""

    label: str
    confidence: int | None
    findings: list[dict[str, str]]
    note: str

    @property
    def draft(self) -> dict[str, Any]:
        """Return the data to store; empty findings are left out."""
        return {**self._asdict(), "findings": [row for row in self.findings if has_input(row)]}


def typed_label(*, label: str, confidence: int | None, findings: Sequence[Mapping[str, Any]], note: str) -> TypedLabel:
    """Return the entered values as a label that can be stored. Raises :class:`IncompleteError` otherwise.

    The error's fields are ``confidence``, ``note``, ``findings``, ``finding-0``, ``finding-1``, …
    """
    errors: dict[str, str] = {}
    if confidence is not None and confidence not in Confidence.values:
        errors["confidence"] = f"The confidence must be one of {', '.join(map(str, Confidence.values))}."
    rows = [
        {name: "" if row[name] is None else _text(row[name]) for name in Finding.__annotations__} for row in findings
    ]
    if problem := _unstorable(note, LONGEST_NOTE):
        errors["note"] = f"The note {problem}"
    if len(rows) > MAX_FINDINGS:
        errors["findings"] = f"There are {len(rows)} findings; at most {MAX_FINDINGS} can be kept."
    for number, row in enumerate(rows):
        if problem := _unstorable(row["text"], LONGEST_TEXT):
            errors[f"finding-{number}"] = f"The text of finding {number + 1} {problem}"
        elif max(len(row["start"]), len(row["end"])) > LONGEST_TYPED_NUMBER:
            errors[f"finding-{number}"] = f"A line number of finding {number + 1} is too long."
    if errors:
        raise IncompleteError(errors)
    return TypedLabel(label, confidence, rows, _text(note))


def _text(typed: object) -> str:
    return str(typed).replace("\r\n", "\n")


def _unstorable(text: str, most: int) -> str:
    if "\0" in text:
        return "contains a NUL character, which cannot be stored."
    return f"has {len(text):,} characters; at most {most:,} can be kept." if len(text) > most else ""


def clean_label(
    *, label: str, confidence: int | None, findings: Sequence[Mapping[str, Any]], note: str, lines: Mapping[str, int]
) -> Given:
    """Return a label ready to be locked. ``lines`` has the number of lines of each side (:func:`items.line_count`).

    LC and LI need at least one finding with lines; CC may have some. Empty findings are dropped; a finding with only a
    first line ends on that line. Raises :class:`IncompleteError` with the fields ``label``, ``confidence``,
    ``findings``, ``finding-0``, ``finding-1``, … (in the order sent).
    """
    errors: dict[str, str] = {}
    if label not in LABELS:
        errors["label"] = "Choose CC, LC or LI."
    if confidence not in Confidence.values:
        errors["confidence"] = "Choose your confidence."
    located: list[Finding] = []
    for number, row in enumerate(findings):
        if not has_input(row):
            continue
        try:
            located.append(_finding(row, lines))
        except ValueError as error:
            errors[f"finding-{number}"] = f"Finding {number + 1} {error}"
    if not located and label in (Label.LI, Label.LC) and not any(name.startswith("finding-") for name in errors):
        errors["findings"] = f"{label} needs at least one finding: describe what is wrong, and on which lines."
    if errors or confidence is None:
        raise IncompleteError(errors)
    return Given(label, confidence, located, note)


def has_input(row: Mapping[str, Any]) -> bool:
    """Return whether any field of a finding was filled in."""
    return any(str(row[name]).strip() for name in ("start", "end", "text", "error_class"))


def _finding(row: Mapping[str, Any], lines: Mapping[str, int]) -> Finding:
    """Return a valid finding. Raises ``ValueError`` (text to follow the finding's name) if incomplete or misplaced."""
    side = row["side"]
    if side not in FindingSide.values:
        msg = "does not name the code it is about."
        raise ValueError(msg)
    start = _whole_number(row["start"])
    end = start if row["end"] == "" else _whole_number(row["end"])
    last = lines.get(side, 0)
    if start is None or end is None:
        msg = "needs a first and a last line, as numbers."
        raise ValueError(msg)
    if not 1 <= start <= end <= last:
        name = FindingSide(side).label
        msg = f"is on lines {start} to {end}; use lines 1 to {last} of the {name}, with the first line first."
        raise ValueError(msg)
    if not (row["text"].strip() or row["error_class"]):
        msg = "needs a text, or at least an error class."
        raise ValueError(msg)
    return Finding(side=side, start=start, end=end, text=row["text"], error_class=row["error_class"])


def _whole_number(typed: object) -> int | None:
    text = str(typed).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else None
