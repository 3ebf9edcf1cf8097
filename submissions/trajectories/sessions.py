"""Read OpenHands' sessions from a folder of event files, or from an ``output.jsonl``. Does not use Django.

The files are untrusted: sizes and numbers are bounded, and a session that cannot be read does not affect the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from submissions.trajectories.openhands import is_event
from submissions.trajectories.steps import bounded

Event: TypeAlias = dict[str, Any]

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""Most bytes of one event file, and of a page of a session's cache."""
MAX_SESSION_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of a session's files, and of a line of ``output.jsonl``."""
MAX_EVENTS: Final = 20_000
MAX_SESSIONS: Final = 1000
_MAX_NAME: Final = 200
_MAX_REASON: Final = 300
_PLACES: Final = ("events", "*/events", "sessions/*/events", "file_store/sessions/*/events")


class SessionsError(ValueError):
    """No session can be read. The message names the file or folder."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session's ``events`` in order. ``name`` is its folder's, or its run's ``instance_id``.

    ``broken`` is why it cannot be read, and ``ending`` the error that ended the run; either may be empty.
    """

    name: str
    events: tuple[Event, ...] = ()
    broken: str = ""
    ending: str = ""


def read_sessions(place: Path) -> Iterator[Session]:
    """Yield the sessions in ``place``, ordered by name: a folder of sessions, one session, or an ``output.jsonl``.

    Raises SessionsError.
    """
    if place.is_file():
        yield from _runs(place)
        return
    folders = sorted({events.parent for pattern in _PLACES for events in place.glob(pattern) if events.is_dir()})
    if not folders:
        raise SessionsError(
            f"{place} holds no sessions: expected <session>/events/0.json, sessions/ or file_store/sessions/ in it, or "
            "the path of an output.jsonl."
        )
    if len(folders) > MAX_SESSIONS:
        raise SessionsError(f"{place} holds {len(folders)} sessions; at most {MAX_SESSIONS} are read.")
    yield from map(_session, folders)


def _session(folder: Path) -> Session:
    """Read a session's event files; pages of its cache replace files that are missing."""
    name = bounded(folder.resolve().name, _MAX_NAME)
    events: dict[int, Event] = {}
    size = 0
    try:
        for file in (*folder.glob("event_cache/*.json"), *folder.glob("events/*.json")):
            size += file.stat().st_size
            if file.stat().st_size > MAX_EVENT_BYTES or size > MAX_SESSION_BYTES:
                return Session(name, broken=f"{file}: this event or the whole session is too large.")
            value = _json(file.read_bytes())
            found: list[Event] = [item for item in (value if isinstance(value, list) else [value]) if is_event(item)]
            if not found:
                return Session(name, broken=f"{file}: this is not an OpenHands event.")
            events |= {event["id"]: event for event in found if _is_number(event.get("id"))}
            if len(events) > MAX_EVENTS:
                return Session(name, broken=f"{folder}: more than {MAX_EVENTS} events.")
    except OSError as error:
        return Session(name, broken=f"{folder}: {error.strerror or error}.")
    if not events:
        return Session(name, broken=f"{folder}: it has no events.")
    missing = next((number for number in range(len(events)) if number not in events), None)
    if missing is not None:
        return Session(name, broken=f"{folder}: events/{missing}.json is missing.")
    return Session(name, tuple(events[number] for number in sorted(events)))


def _runs(file: Path) -> Iterator[Session]:
    """Read each line of an ``output.jsonl``."""
    number = 0
    try:
        with file.open("rb") as lines:
            while line := lines.readline(MAX_SESSION_BYTES + 1):
                number += 1
                if len(line) > MAX_SESSION_BYTES:
                    raise SessionsError(f"{file}:{number}: the line is larger than {MAX_SESSION_BYTES} bytes.")
                if number > MAX_SESSIONS:
                    raise SessionsError(f"{file} holds more than {MAX_SESSIONS} runs.")
                if line.strip():
                    yield _run(_json(line), where=f"{file}:{number}", number=number)
    except OSError as error:
        raise SessionsError(f"{file}: {error.strerror or error}.") from None
    if not number:
        raise SessionsError(f"{file} is empty.")


def _run(value: object, *, where: str, number: int) -> Session:
    history = value.get("history") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(history, list):
        return Session(f"line {number}", broken=f"{where}: this is not a run with a 'history', as in output.jsonl.")
    name = bounded(str(value.get("instance_id", f"line {number}")), _MAX_NAME)
    entries = [entry for item in history for entry in (item if isinstance(item, list) else [item])]
    if len(entries) > MAX_EVENTS:
        return Session(name, broken=f"{where}: more than {MAX_EVENTS} events.")
    if any(not is_event(entry) for entry in entries):
        return Session(name, broken=f"{where}: the 'history' has entries that are not OpenHands events.")
    error = value.get("error")
    ending = " ".join(error.split()) if isinstance(error, str) else ""
    return Session(name, tuple(entries), ending=bounded(ending, _MAX_REASON))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
