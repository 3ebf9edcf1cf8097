"""What the labelling page sends, as a plain form or as JSON, in the one shape that drafts have.

Nothing is judged here but the shape: what is typed is kept as it is, and what a label must have is the domain's to say.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from reviews.exceptions import LabelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest, QueryDict

_MOST_FORM_FINDINGS: Final = 18
"""Django takes 100 fields from a form; each finding has five. The page with JavaScript sends JSON instead."""
_BLANK_FINDINGS: Final = 2
_FINDING_FIELD: Final = re.compile(r"finding-(\d{1,3})-(side|start|end|text|error_class)")
_LONGEST_NUMBER: Final = 9


@dataclass(frozen=True, slots=True)
class Sent:
    """What arrived. ``draft`` is None in a heartbeat; ``next_item`` asks for another item after locking."""

    draft: dict[str, Any] | None
    version: int
    active_seconds: int
    next_item: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands in the fields of the page, and what is wrong with it. ``errors`` maps each field to a sentence."""

    label: str = ""
    confidence: int | None = None
    findings: tuple[Mapping[str, Any], ...] = ()
    note: str = ""
    paper_page: int = 1
    view: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


def is_json(request: HttpRequest) -> bool:
    """Whether the page's script asks, and wants JSON back."""
    return request.content_type == "application/json"


def sent_json(body: bytes) -> Sent:
    """Read ``{draft, version, active_seconds, then}``. Raises :class:`LabelError` that says which of them is wrong."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise LabelError({"body": "The request is not JSON."}) from error
    if not isinstance(data, dict):
        raise LabelError({"body": "The request must be a JSON object."})
    errors = {}
    draft = data.get("draft")
    if draft is not None and not isinstance(draft, dict):
        errors["draft"] = "“draft” must be an object, or null to renew the lease only."
    numbers = {name: data.get(name, 0) for name in ("version", "active_seconds")}
    for name, number in numbers.items():
        if type(number) is not int or not 0 <= number < 10**_LONGEST_NUMBER:
            errors[name] = f"“{name}” must be a whole number from 0 on."
    if errors:
        raise LabelError(errors)
    return Sent(draft=draft, next_item=data.get("then") == "next", **numbers)


def sent_form(data: QueryDict, *, view: Mapping[str, Any]) -> Sent:
    """Read a plain form. ``view`` is how the page was shown, of which a form changes only how blanks count."""
    whitespace = data.get("whitespace", "")
    return Sent(
        draft={
            "label": data.get("label", ""),
            "confidence": _whole(data.get("confidence", "")),
            "findings": _findings(data),
            "note": data.get("note", "").replace("\r\n", "\n"),
            "paper_page": _whole(data.get("paper_page", "")) or 1,
            "view": {**view, "whitespace": whitespace} if whitespace in ("shown", "ignored") else dict(view),
        },
        version=_whole(data.get("version", "")) or 0,
        active_seconds=_whole(data.get("active_seconds", "")) or 0,
        next_item=data.get("then") == "next",
    )


def entry_of(draft: Mapping[str, Any], errors: Mapping[str, str] | None = None, *, blanks: bool = True) -> Entry:
    """The fields of the page for a draft. ``blanks`` adds empty findings, which the page's script takes away again."""
    findings = [_shown_finding(number, given, errors or {}) for number, given in enumerate(draft.get("findings") or [])]
    if blanks and len(findings) < _MOST_FORM_FINDINGS:
        findings += [{"side": "candidate", "blank": True}] * _BLANK_FINDINGS
    confidence = draft.get("confidence")
    page = draft.get("paper_page")
    return Entry(
        label=str(draft.get("label") or ""),
        confidence=_whole(str(confidence or "")),
        findings=tuple(findings),
        note=str(draft.get("note") or ""),
        paper_page=_whole(str(page or "")) or 1,
        view=view if isinstance(view := draft.get("view"), dict) else {},
        errors=errors or {},
    )


def _shown_finding(number: int, given: Any, errors: Mapping[str, str]) -> dict[str, Any]:
    finding = dict(given) if isinstance(given, dict) else {}
    return {**finding, "error": errors.get(f"finding-{number}", "")}


def _findings(data: QueryDict) -> list[dict[str, Any]]:
    """The findings in which anything was filled in, in their order."""
    rows: dict[int, dict[str, Any]] = {}
    for name, value in data.items():
        match = _FINDING_FIELD.fullmatch(name)
        if match and isinstance(value, str):
            rows.setdefault(int(match[1]), {})[match[2]] = value.replace("\r\n", "\n")
    blank = {"side": "candidate", "start": "", "end": "", "text": "", "error_class": ""}
    found = [{**blank, **rows[number]} for number in sorted(rows)]
    return [row for row in found if any(row[part].strip() for part in ("start", "end", "text", "error_class"))]


def _whole(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER else None
