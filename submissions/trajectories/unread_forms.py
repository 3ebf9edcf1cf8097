"""Recognise trajectories of forms that are not read yet, so that none is taken for another form.

Every test looks at several keys at once: ``history``, ``steps`` or ``type`` alone are in the files of many tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

_CLAUDE_TYPES: Final = ("system", "user", "assistant", "result", "stream_event", "summary")
_ATIF_SOURCES: Final = ("system", "user", "agent")


class Form(NamedTuple):
    """A form of trajectories: the ``source`` of its runs, and what a file of it is called."""

    source: str
    name: str
    recognises: Callable[[Sequence[Mapping[str, Any]]], bool]

    @property
    def message(self) -> str:
        """What pages, the check and the API say of a file of this form."""
        return (
            f"This looks like {self.name}, which is not read yet: it is kept as it is, and its steps are not counted."
        )


def form_of(values: Iterable[Any]) -> Form | None:
    """Which form the values of a file look like; None for no form known here.

    ``values`` are the file's JSON values: one object, the elements of a list, or a value for each line.
    """
    listed = [item for value in values for item in (value if isinstance(value, list) else [value])]
    objects = [item for item in listed if isinstance(item, dict)]
    return next((form for form in FORMS if form.recognises(objects)), None)


def is_openhands_v1_event(item: object) -> bool:
    """Whether this is one event of OpenHands' V1 SDK: a kind such as ``ActionEvent``, and who it came from."""
    return (
        isinstance(item, dict)
        and isinstance(item.get("kind"), str)
        and item["kind"].endswith("Event")
        and isinstance(item.get("source"), str)
    )


def is_openhands_v1_run(item: object) -> bool:
    """Whether this is a line of its ``output.jsonl``."""
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
