"""Recognise trajectory formats that are not parsed yet, so that they are not mistaken for other formats.

Every check needs several keys at once: many tools' files have ``history``, ``steps`` or ``type`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

_CLAUDE_TYPES: Final = ("system", "user", "assistant", "result", "stream_event", "summary")
_ATIF_SOURCES: Final = ("system", "user", "agent")


class Form(NamedTuple):
    """A trajectory format: the ``source`` of its runs, and the ``name`` of a file."""

    source: str
    name: str
    recognises: Callable[[Sequence[Mapping[str, Any]]], bool]

    @property
    def message(self) -> str:
        """Return the message on a file of this format for pages, the check and the API."""
        return (
            f"This looks like {self.name}, which is not read yet: it is stored as it is, and its steps are not counted."
        )


def form_of(values: Iterable[Any]) -> Form | None:
    """Return the format that a file's values match, or None.

    ``values`` are the file's JSON values: one object, the elements of a list, or one value per line.
    """
    listed = [item for value in values for item in (value if isinstance(value, list) else [value])]
    objects = [item for item in listed if isinstance(item, dict)]
    return next((form for form in FORMS if form.recognises(objects)), None)


def is_openhands_v1_event(item: object) -> bool:
    """Return whether this is one event of OpenHands' V1 SDK, with a kind such as ``ActionEvent`` and a source."""
    return (
        isinstance(item, dict)
        and isinstance(item.get("kind"), str)
        and item["kind"].endswith("Event")
        and isinstance(item.get("source"), str)
    )


def is_openhands_v1_run(item: object) -> bool:
    """Return whether this is a line of the V1 SDK's ``output.jsonl``."""
    return isinstance(item, dict) and any(map(is_openhands_v1_event, _list(item.get("history"))))


def _is_openhands_v1(objects: Sequence[Mapping[str, Any]]) -> bool:
    return any(is_openhands_v1_event(item) or is_openhands_v1_run(item) for item in objects)


def _is_swe_agent(objects: Sequence[Mapping[str, Any]]) -> bool:
    return any(map(_is_swe_agent_file, objects))


def _is_swe_agent_file(item: Mapping[str, Any]) -> bool:
    steps, info = _list(item.get("trajectory")), item.get("info")
    if steps and not any(isinstance(step, dict) and {"action", "observation"} <= step.keys() for step in steps):
        return False
    marks = (
        isinstance(item.get("history"), list),
        isinstance(info, dict) and bool({"exit_status", "model_stats", "submission"} & info.keys()),
        isinstance(item.get("environment"), str),
    )
    return isinstance(item.get("trajectory"), list) and sum(marks) > 1


def _is_atif(objects: Sequence[Mapping[str, Any]]) -> bool:
    return any(map(_is_atif_file, objects))


def _is_atif_file(item: Mapping[str, Any]) -> bool:
    agent = item.get("agent")
    marks = (
        str(item.get("schema_version")).upper().startswith("ATIF"),
        isinstance(agent, dict) and isinstance(agent.get("name"), str),
        any(
            isinstance(step, dict) and "step_id" in step and step.get("source") in _ATIF_SOURCES
            for step in _list(item.get("steps"))
        ),
    )
    return isinstance(item.get("steps"), list) and sum(marks) > 1


def _is_claude_code(objects: Sequence[Mapping[str, Any]]) -> bool:
    rows = [item for item in objects if item.get("type") in _CLAUDE_TYPES]
    spoken = any(isinstance(row.get("message"), dict) and isinstance(row["message"].get("role"), str) for row in rows)
    return spoken and any({"session_id", "sessionId", "parent_tool_use_id", "parentUuid"} & row.keys() for row in rows)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


FORMS: Final = (
    Form("openhands_v1", "the work of an OpenHands V1 agent", _is_openhands_v1),
    Form("swe_agent", "an SWE-agent trajectory", _is_swe_agent),
    Form("atif", "an ATIF trajectory", _is_atif),
    Form("claude_code", "a log of Claude Code", _is_claude_code),
)
