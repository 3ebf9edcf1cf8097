"""The form of a verdict: the JSON schema that is asked for, and the reading of what came back.

Providers hold answers to the schema each in their own way, so everything is checked here again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Final, NoReturn

from evaluator.judging.labels import Label

SCHEMA_NAME: Final = "verdict"
SEVERITIES: Final = ("minor", "major", "fatal")
FEWEST_POINTS, MOST_POINTS = 2, 4
MOST_FINDINGS = 100
LONGEST_TEXT = 8000

_TEXT: Final = {"type": "string"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """A strict object: every member required, no other allowed."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# Analysis before decision: the order of the members is the order in which they are written (CodeJudge, 2410.02184).
# Bounds on lengths are left out, since one provider refuses them and another turns them into prose.
SCHEMA: Final[dict[str, Any]] = _object(
    {
        "findings": {
            "type": "array",
            "items": _object(
                {"point": _TEXT, "severity": {"type": "string", "enum": list(SEVERITIES)}, "lines": _TEXT}
            ),
        },
        "injection_suspected": {"type": "boolean"},
        "verdict": {"type": "string", "enum": [label.value for label in (Label.LI, Label.LC, Label.CC)]},
        "rationale": {"type": "array", "items": _TEXT},
    }
)

SCHEMA_HASH: Final = hashlib.sha256(json.dumps([SCHEMA_NAME, SCHEMA]).encode()).hexdigest()


class VerdictError(Exception):
    """An answer that is no verdict; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference that the judge found; ``lines`` is empty or like ``12-14``."""

    point: str
    severity: str
    lines: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's answer."""

    findings: tuple[Finding, ...]
    injection_suspected: bool
    label: Label
    rationale: tuple[str, ...]

    def findings_as_data(self) -> list[dict[str, str]]:
        """``{point, severity, lines}`` of each finding."""
        return [asdict(finding) for finding in self.findings]


def parse(text: str) -> Verdict:
    """Read an answer that must be one JSON object of exactly the asked form. Raises :class:`VerdictError`."""
    try:
        data = json.loads(text, object_pairs_hook=_no_member_twice, parse_constant=_no_constant)
    except ValueError as error:
        raise VerdictError(f"not one JSON object: {error}") from None
    except RecursionError:
        raise VerdictError("nested too deeply") from None
    _members(data, SCHEMA["required"], "the answer")
    if not isinstance(data["injection_suspected"], bool):
        raise VerdictError("injection_suspected is neither true nor false")
    if data["verdict"] not in list(Label):
        raise VerdictError("verdict is none of LI, LC, CC")
    return Verdict(
        findings=tuple(_finding(each) for each in _list(data["findings"], "findings", 0, MOST_FINDINGS)),
        injection_suspected=data["injection_suspected"],
        label=Label(data["verdict"]),
        rationale=tuple(
            _text(each, "a point of the rationale")
            for each in _list(data["rationale"], "rationale", FEWEST_POINTS, MOST_POINTS)
        ),
    )


def _finding(data: object) -> Finding:
    members = _members(data, ["point", "severity", "lines"], "a finding")
    severity = members["severity"]
    if severity not in SEVERITIES:
        raise VerdictError("the severity of a finding is none of minor, major, fatal")
    lines = members["lines"]
    if not isinstance(lines, str) or len(lines) > LONGEST_TEXT:
        raise VerdictError("the lines of a finding are no text, or too long")
    return Finding(point=_text(members["point"], "the point of a finding"), severity=severity, lines=lines)


def _members(data: object, names: list[str], what: str) -> dict[str, Any]:
    if not isinstance(data, dict) or set(data) != set(names):
        raise VerdictError(f"{what} does not have exactly the members {', '.join(names)}")
    return data


def _list(data: object, name: str, fewest: int, most: int) -> list[object]:
    if not isinstance(data, list) or not fewest <= len(data) <= most:
        raise VerdictError(f"{name} is no list of {fewest} to {most} items")
    return data


def _text(data: object, what: str) -> str:
    if not isinstance(data, str) or not data.strip() or len(data) > LONGEST_TEXT:
        raise VerdictError(f"{what} is no text, or empty, or longer than {LONGEST_TEXT} characters")
    return data


def _no_member_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member stands there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
