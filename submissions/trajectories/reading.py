"""Read a trajectory of any known form: OpenHands' runs, lists, lines and folders of events, or one object a line.

The texts are foreign: :func:`read_limited` reads them in a limited child process, as checking an upload does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from submissions.limited_child import ChildLimits, answer, ask
from submissions.trajectories import unread_forms
from submissions.trajectories.generic import SOURCE, kind_of, read_objects
from submissions.trajectories.openhands import is_event, not_understood, read_run, unknown_kinds
from submissions.trajectories.steps import AgentRun, TrajectoryError, bounded

READER: Final = 1
"""The version of this reader. Raise it with each change of what is read: the sweep reads stored files again."""
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_RUNS: Final = 1000
MAX_NAME: Final = 200
LIMITS: Final = ChildLimits(cpu_seconds=20, wall_seconds=60.0)
_SHOWN: Final = 5
_LISTS: Final = ("trajectory", "messages", "steps", "events")
_RUN_MARKS: Final = frozenset(("instance_id", "metrics", "error", "git_patch", "test_result"))
_KNOWN: Final = (
    "It is kept as it is. Known are OpenHands' output.jsonl, its events (in a list, a line each, or a file each), and "
    "JSONL with one object a step."
)
_NUMBERS: Final = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class Reading:
    """The runs in a file by their ``instance_id`` (empty where none is given), and what of it was not understood."""

    runs: Mapping[str, AgentRun]
    remarks: tuple[str, ...] = ()

    def run_of(self, instance_id: str) -> AgentRun:
        """The only run, or the one of this paper; one with unknown steps where there is none."""
        found = next(iter(self.runs.values())) if len(self.runs) == 1 else self.runs.get(instance_id)
        if found is None:
            source = next(iter(self.runs.values())).source
            found = AgentRun(
                source, unread=f"{len(self.runs)} runs are in the file, and none is called {instance_id!r}."
            )
        return replace(found, remarks=tuple(remark for remark in self.remarks if remark != found.unread))


@dataclass(slots=True)
class _Rows:
    """A file's JSON values in their order, each with the name of its file in a folder, and what is to be said."""

    values: list[tuple[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def folder_as_lines(files: Mapping[str, bytes]) -> bytes:
    """The files of a folder (path to content) as one JSONL text: a row ``{"file", "content"}`` each, in their order.

    Numbers in names count as numbers, so that event 10 comes after event 9.
    """
    ordered = sorted(files, key=lambda name: [int(part) if part.isdigit() else part for part in _NUMBERS.split(name)])
    rows = ({"file": name, "content": _value_or_text(files[name])} for name in ordered)
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read_trajectory(data: bytes) -> Reading:
    """The runs in ``data``; of two with one id the later one.

    Raises TrajectoryError where nothing in it is an agent's step, or where it is larger than ``MAX_BYTES``.
    """
    if len(data) > MAX_BYTES:
        raise TrajectoryError(f"The trajectory is larger than {MAX_BYTES // 1024 // 1024} MB.")
    rows = _rows(data.decode("utf-8-sig", "replace"))
    runs = [value for _, value in rows.values if _is_run(value)]
    events = [event for _, value in rows.values for event in _as_events(value)]
    if not runs and not events:
        form = unread_forms.form_of(value for _, value in rows.values)
        found = _unread(rows, form) if form else _of_objects(rows)
        return Reading(found, tuple(rows.remarks))
    found = _of_runs(runs or [{"history": _once(events)}], rows)
    others = [name for name, value in rows.values if not (_is_run(value) if runs else _as_events(value))]
    if others:
        what = "run" if runs else "event"
        rows.remarks.append(f"{_count(others, 'row')} no {what} of OpenHands{_listed(others)}; kept and not shown.")
    return Reading(found, tuple(rows.remarks))


def trajectory_name(values: Sequence[Any]) -> str:
    """What these JSON values are called where they are a trajectory of a form that names itself; else an empty text."""
    if any(_is_run(value) or _as_events(value) for value in values):
        return "an OpenHands trajectory"
    form = unread_forms.form_of(values)
    return form.name if form else ""


def _rows(text: str) -> _Rows:
    """The whole text as one JSON value, an element of its list each, or a value a line; files of a folder opened."""
    rows = _Rows()
    whole = _json(text)
    broken = []
    values = enumerate(whole if isinstance(whole, list) else [whole], start=1) if whole is not None else _lines(text)
    for number, value in values:
        name = ""
        if isinstance(value, dict) and value.keys() == {"file", "content"}:
            name, value = bounded(str(value["file"]), MAX_NAME), value["content"]
        if isinstance(value, dict | list):
            rows.values.append((name, value))
        else:
            broken.append(name or f"line {number}")
    if broken and rows.values:
        rows.remarks.append(f"{_count(broken, 'part')} no JSON object{_listed(broken)}; kept and not shown.")
    return rows


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    return ((number, _json(line)) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _of_runs(runs: Iterable[Mapping[str, Any]], rows: _Rows) -> dict[str, AgentRun]:
    found: dict[str, AgentRun] = {}
    unknown: Counter[str] = Counter()
    said: list[str] = []
    for run in runs:
        name = run.get("instance_id")
        key = bounded(str(name), MAX_NAME) if isinstance(name, str | int) else ""
        if key in found or len(found) < MAX_RUNS:
            total, others = not_understood(run["history"])
            found[key] = replace(read_run(run), unread=_too_many(total, others))
            said += [found[key].unread or _unknown_entries(total, others)] if others else []
            unknown.update(unknown_kinds(run["history"]))
    rows.remarks += list(dict.fromkeys(said))[:_SHOWN]
    if unknown:
        kinds = ", ".join(bounded(kind, 40) for kind in sorted(unknown)[:_SHOWN])
        actions = "1 action is" if unknown.total() == 1 else f"{unknown.total()} actions are"
        rows.remarks.append(f"{actions} of a kind that is not known here ({kinds}); shown as “other”.")
    return found


def _of_objects(rows: _Rows) -> dict[str, AgentRun]:
    values = [value for _, value in rows.values]
    if len(values) == 1 and isinstance(values[0], dict):
        # One object around a list of steps or messages.
        (whole,) = values
        values = next((whole[name] for name in _LISTS if isinstance(whole.get(name), list)), values)
    objects = [value for value in values if isinstance(value, dict)]
    trajectory, unknown = read_objects(objects)
    if len(objects) > 1 and (why := _too_many(len(objects), unknown)):
        raise TrajectoryError(why)
    if not trajectory.steps:
        raise TrajectoryError(f"Nothing in the trajectory can be shown as an agent's steps. {_KNOWN}")
    if unknown:
        rows.remarks.append(_unknown_entries(len(objects), unknown))
    return {"": trajectory}


def _unread(rows: _Rows, form: unread_forms.Form) -> dict[str, AgentRun]:
    """The runs of a form that is not read, without steps; what they cost where that is written as OpenHands does."""
    rows.remarks.append(form.message)
    runs = [value for _, value in rows.values if unread_forms.is_openhands_v1_run(value)]
    read = _of_runs([{**run, "history": []} for run in runs], rows)
    return {name: replace(run, source=form.source, ending="", unread=form.message) for name, run in read.items()} or {
        "": AgentRun(form.source, unread=form.message)
    }


def _unknown_entries(total: int, unknown: Sequence[object], then: str = "; kept and not counted") -> str:
    kinds = list(dict.fromkeys(map(kind_of, unknown)))
    listed = f"{'; '.join(kinds[:_SHOWN])}{'; …' if len(kinds) > _SHOWN else ''}"
    return f"{len(unknown)} of {total} events {'was' if len(unknown) == 1 else 'were'} not understood ({listed}){then}."


def _too_many(total: int, unknown: Sequence[object]) -> str:
    """Why no step is counted where most of the file is not understood; else an empty text."""
    few = 2 * len(unknown) <= total
    return "" if few else f"{_unknown_entries(total, unknown, ', so no step is counted')} {_KNOWN}"


def _is_run(value: object) -> bool:
    """Whether this is a line of OpenHands' ``output.jsonl``: other tools have a ``history``, too."""
    if not isinstance(value, dict) or not isinstance(value.get("history"), list):
        return False
    events = [event for item in value["history"] for event in _as_events(item)]
    return bool(events) or (not value["history"] and bool(_RUN_MARKS & value.keys()))


def _as_events(value: object) -> list[dict[str, Any]]:
    """The events in a row: it is one, or it lists some."""
    found = value if isinstance(value, list) else [value]
    return [item for item in found if isinstance(item, dict) and is_event(item)]


def _once(events: list[dict[str, Any]]) -> list[object]:
    """Each event once: a session's cache repeats what its files hold. Without an id it is another one each time."""
    kept: dict[object, dict[str, Any]] = {}
    for place, event in enumerate(events):
        number = event.get("id")
        kept.setdefault(("id", number) if isinstance(number, int | str) else ("place", place), event)
    return list(kept.values())


def _json(text: str) -> Any:
    try:
        # Python's reader would take NaN and infinities, which no database takes.
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError, MemoryError):
        return None


def _value_or_text(content: bytes) -> Any:
    text = content.decode("utf-8-sig", "replace")
    value = _json(text)
    return value if isinstance(value, dict | list) else text


def _listed(names: list[str]) -> str:
    """The first of the names that are not empty, in brackets."""
    named = [name for name in names if name]
    return f" ({', '.join(named[:_SHOWN])}{', …' if len(named) > _SHOWN else ''})" if named else ""


def _count(items: list[str], noun: str) -> str:
    return f"1 {noun} is" if len(items) == 1 else f"{len(items)} {noun}s are"


def read_limited(data: bytes, *, instance_id: str, limits: ChildLimits = LIMITS) -> AgentRun:
    """The run of this paper in ``data``, or its only one; one that is ``unread`` where it cannot be read.

    Raises ChildError where that takes too much time or memory.
    """
    return AgentRun.from_data(ask(__name__, f"{instance_id}\n".encode() + data, limits))


def serve(limits_text: str) -> None:
    """The child."""
    answer(limits_text, _read_run)


def _read_run(given: bytes) -> dict[str, Any]:
    instance_id, _, data = given.partition(b"\n")
    try:
        return read_trajectory(data).run_of(instance_id.decode()).as_data()
    except TrajectoryError as error:
        return AgentRun(SOURCE, unread=str(error)).as_data()
