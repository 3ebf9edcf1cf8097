"""What a person typed, checked: findings, and the label that they explain.

Drafts may be incomplete and are kept as they were typed; labels must be whole. Both come from browsers, so nothing is
taken for granted: whatever is wrong is a :class:`LabelError` with a sentence for its field.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from evaluator.enums import LABEL_CHOICES
from evaluator.judging.labels import Label
from evaluator.queue.storable import storable_text
from reviews.enums import Confidence, ErrorClass, FindingSide
from reviews.exceptions import LabelError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FINDINGS: Final = 50
LONGEST_TEXT: Final = 2_000
LONGEST_NOTE: Final = 10_000
LONGEST_NUMBER: Final = 12
LARGEST_NUMBER: Final = 999_999_999
LABELS: Final = tuple(value for value, _ in LABEL_CHOICES)

_FIELDS: Final = ("side", "start", "end", "text", "error_class")
_CHOICES: Final = {"side": ("", *FindingSide.values), "error_class": ("", *ErrorClass.values)}
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}")


class Finding(TypedDict):
    """What is wrong where: 1-based lines of one side as it is shown, both ends included."""

    side: str
    start: int
    end: int
    text: str
    error_class: str


class Given(NamedTuple):
    """A whole label."""

    label: str
    confidence: int
    findings: list[Finding]
    note: str


class _WrongError(Exception):
    """What is wrong with one finding."""


def clean_label(
    *, label: object, confidence: object, findings: object, note: object, lines: Mapping[str, int]
) -> Given:
    """A label ready to be locked. ``lines`` says how many lines each side has (:func:`items.line_count`).

    LI and LC need a finding that is located; CC may have some. Findings in which nothing was typed are dropped; where
    one has a first line only, it is the last one too. Raises :class:`LabelError` with the fields ``label``,
    ``confidence``, ``findings``, ``finding-0``, ``finding-1``, … (in the order in which they were sent) and ``note``.
    """
    errors: dict[str, str] = {}
    if label not in LABELS:
        errors["label"] = "Choose LI, LC or CC."
    level = whole_number(confidence)
    if level not in Confidence.values:
        errors["confidence"] = "Say how sure you are."
    located, wrong = _located(findings, lines)
    errors |= wrong
    if not (wrong or located) and label in (Label.LI, Label.LC):
        errors["findings"] = f"{label} needs at least one finding: say what is wrong, and on which lines."
    try:
        text = clean_text(note, longest=LONGEST_NOTE)
    except ValueError as error:
        errors["note"] = f"The note {error}"
        text = ""
    if errors or level is None:
        raise LabelError(errors)
    return Given(str(label), level, located, text)


def draft_findings(findings: object) -> list[dict[str, Any]]:
    """Findings as they were typed, complete or not. Raises :class:`LabelError` for what no page sends."""
    rows = _rows(findings)
    errors = {}
    for number, row in enumerate(rows, start=1):
        try:
            _check_draft(row)
        except (_WrongError, ValueError) as error:
            errors[f"finding-{number - 1}"] = f"Finding {number} {error}"
    if errors:
        raise LabelError(errors)
    return [{field: row.get(field, "") for field in _FIELDS} for row in rows]


def clean_text(value: object, *, longest: int) -> str:
    """``value`` unchanged. Raises ``ValueError``, to be put after the field's name, for what cannot be kept."""
    if not isinstance(value, str):
        msg = "is not text."
        raise ValueError(msg)  # noqa: TRY004 - one exception for whatever is wrong with a field
    if len(value) > longest:
        msg = f"has {len(value)} characters; {longest} are the most."
        raise ValueError(msg)
    if storable_text(value) != value:
        msg = "has a character that cannot be kept. Type it anew, without pasting."
        raise ValueError(msg)
    return value


def whole_number(value: object) -> int | None:
    """A number of up to nine digits that was sent as one or as digits; None for anything else."""
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_NUMBER:
        return value
    return None


def _rows(findings: object) -> list[dict[str, Any]]:
    if not isinstance(findings, list) or not all(isinstance(row, dict) for row in findings):
        raise LabelError({"findings": "The findings cannot be read. Reload the page; your draft is kept."})
    if len(findings) > MAX_FINDINGS:
        raise LabelError({"findings": f"There are {len(findings)} findings; {MAX_FINDINGS} are the most."})
    return findings


def _check_draft(row: Mapping[str, Any]) -> None:
    """Raises :class:`_WrongError` or ``ValueError`` for a row that cannot be kept."""
    unknown = sorted(ascii(field)[:40] for field in row if field not in _FIELDS)
    if unknown:
        msg = f"has fields that are not known: {', '.join(unknown)[:200]}."
        raise _WrongError(msg)
    clean_text(row.get("text", ""), longest=LONGEST_TEXT)
    for field, choices in _CHOICES.items():
        if row.get(field, "") not in choices:
            msg = f"has a wrong {field.replace('_', ' ')}."
            raise _WrongError(msg)
    for field in ("start", "end"):
        value = row.get(field, "")
        if not (value is None or whole_number(value) is not None or _is_short(value)):
            msg = "has a line that is not a number."
            raise _WrongError(msg)


def _is_short(value: object) -> bool:
    """Whether something was typed into a number's field that can be kept until it is mended."""
    return isinstance(value, str) and len(value) <= LONGEST_NUMBER and storable_text(value) == value


def _located(findings: object, lines: Mapping[str, int]) -> tuple[list[Finding], dict[str, str]]:
    """The findings in which something was typed, and what is wrong with the others, by field."""
    try:
        rows = draft_findings(findings)
    except LabelError as error:
        return [], error.errors
    located: list[Finding] = []
    errors = {}
    for number, row in enumerate(rows, start=1):
        if not any(str(row[field] or "").strip() for field in ("start", "end", "text", "error_class")):
            continue
        try:
            located.append(_finding(row, lines))
        except _WrongError as error:
            errors[f"finding-{number - 1}"] = f"Finding {number} {error}"
    return located, errors


def _finding(row: Mapping[str, Any], lines: Mapping[str, int]) -> Finding:
    """Raises :class:`_WrongError` for a finding that is not complete or not located."""
    side = row["side"]
    if not side:
        msg = "does not say which code it is about."
        raise _WrongError(msg)
    start = whole_number(row["start"])
    end = start if row["end"] in ("", None) else whole_number(row["end"])
    last = lines.get(side, 0)
    if start is None or end is None:
        msg = "needs a first and a last line, as numbers."
        raise _WrongError(msg)
    if not 1 <= start <= end <= last:
        name = FindingSide(side).label
        msg = f"is on lines {start} to {end}; the {name} has lines 1 to {last}, and the first line comes first."
        raise _WrongError(msg)
    if not (row["text"].strip() or row["error_class"]):
        msg = "needs words, or at least an error class."
        raise _WrongError(msg)
    return Finding(side=side, start=start, end=end, text=row["text"], error_class=row["error_class"])
