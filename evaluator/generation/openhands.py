"""OpenHands' files of what its agents did (``output.jsonl``, or one list of events), as strangers upload them.

A line of ``output.jsonl`` is one run: ``instance_id``, ``history`` (events, or lists of an action and its observation),
``metrics`` (costs and tokens, for each reply of the model and together) and ``error``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from evaluator.generation.trajectory import Action, Step, Trajectory, TrajectoryError, amount, bounded, tokens

SOURCE: Final = "openhands"
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_RUNS: Final = 1000
MAX_NAME: Final = 200

Event: TypeAlias = Mapping[str, Any]

_ACTIONS: Final = {
    "run": Action.RUN,
    "run_ipython": Action.RUN,
    "read": Action.READ,
    "write": Action.EDIT,
    "edit": Action.EDIT,
    "message": Action.MESSAGE,
    "think": Action.MESSAGE,
    "finish": Action.FINISH,
}
# What the machinery around the agent notes for itself.
_LEFT_OUT: Final = frozenset(
    (
        "recall",
        "system",
        "null",
        "change_agent_state",
        "condensation",
        "condensation_request",
        "pause",
        "resume",
        "stop",
    )
)
_EDIT_PARTS: Final = ("command", "file_text", "old_str", "new_str", "insert_line", "content")


@dataclass(frozen=True, slots=True)
class _Costs:
    """What each reply of the model took, by its id, and all of them together."""

    replies: Mapping[str, tuple[int | None, int | None, float | None]] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    dollars: float | None = None


def read_openhands(data: bytes) -> dict[str, Trajectory]:
    """The runs in ``data`` by their ``instance_id`` (empty where none is given); of two with one id the later one.

    Lines that are broken, such as a last one that was cut off, are passed over. Raises TrajectoryError where nothing
    in it is a run of OpenHands, or where it is larger than ``MAX_BYTES``.
    """
    if len(data) > MAX_BYTES:
        raise TrajectoryError(f"The trajectory is larger than {MAX_BYTES // 1024 // 1024} MB.")
    found: dict[str, Trajectory] = {}
    for run in _runs(data.decode("utf-8-sig", "replace")):
        name = run.get("instance_id")
        key = bounded(str(name), MAX_NAME) if isinstance(name, str | int) else ""
        if key in found or len(found) < MAX_RUNS:
            found[key] = _trajectory(run)
    if not found:
        raise TrajectoryError("No line of the trajectory is a run of OpenHands: a JSON object with its 'history'.")
    return found


def _runs(text: str) -> Iterator[Event]:
    """The objects with a history: the whole text, an element of it, or a line."""
    whole = _json(text)
    if isinstance(whole, list) and any(_is_event(item) for item in whole):
        yield {"history": whole}
        return
    alone = whole if isinstance(whole, list) else [whole]
    for candidate in alone if whole is not None else map(_json, text.split("\n")):
        if isinstance(candidate, dict) and isinstance(candidate.get("history"), list):
            yield candidate


def _json(text: str) -> Any:
    try:
        # Python's reader would take NaN and infinities, which no database takes.
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError, MemoryError):
        return None


def _is_event(item: object) -> bool:
    return isinstance(item, dict) and (isinstance(item.get("action"), str) or isinstance(item.get("observation"), str))


def _trajectory(run: Event) -> Trajectory:
    costs = _costs(run.get("metrics"))
    steps = tuple(_steps(run["history"], costs))
    return Trajectory(
        source=SOURCE,
        steps=steps,
        ending=_ending(run.get("error"), steps),
        input_tokens=costs.input_tokens,
        output_tokens=costs.output_tokens,
        dollars=costs.dollars,
    )


def _ending(error: object, steps: tuple[Step, ...]) -> str:
    if isinstance(error, str) and error.strip():
        return error.strip()
    if steps and steps[-1].action is Action.FINISH:
        return "finished"
    return "stopped without finishing"


def _steps(history: list[object], costs: _Costs) -> Iterator[Step]:
    observations = _observations(history)
    counted: set[str] = set()
    for place, event in _events(history):
        name = event.get("action")
        if not isinstance(name, str) or name in _LEFT_OUT or event.get("source") != "agent":
            continue
        observation = observations.get(_id(event.get("id"))) or observations.get(f"after {place}") or {}
        reply = _reply_id(event)
        # One reply may ask for several actions: it is counted with the first.
        spent = costs.replies.get(reply, (None, None, None)) if reply not in counted else (None, None, None)
        counted.add(reply)
        action, args = _ACTIONS.get(name, Action.OTHER), _mapping(event.get("args"))
        yield Step(
            action=action,
            input=_input(name, args, event),
            observation=_string(observation.get("content")) if observation.get("observation") != "think" else "",
            thought="" if name == "think" else _string(args.get("thought")),
            seconds=_seconds(event, observation),
            input_tokens=spent[0],
            output_tokens=spent[1],
            dollars=spent[2],
        )


def _events(history: list[object]) -> Iterator[tuple[int, Event]]:
    """Every event with its number, lists of them opened."""
    number = 0
    for item in history:
        for event in item if isinstance(item, list) else [item]:
            if isinstance(event, dict):
                yield number, event
                number += 1


def _observations(history: list[object]) -> dict[str, Event]:
    """Observations by the action that they answer: the id in ``cause``, or the number of the event before."""
    found: dict[str, Event] = {}
    for place, event in _events(history):
        if not isinstance(event.get("observation"), str) or event["observation"] in _LEFT_OUT:
            continue
        cause = _id(event.get("cause"))
        found.setdefault(cause or f"after {place - 1}", event)
    return found


def _id(value: object) -> str:
    return f"id {value}" if isinstance(value, int | str) and not isinstance(value, bool) else ""


def _reply_id(event: Event) -> str:
    metadata = _mapping(event.get("tool_call_metadata"))
    return _string(_mapping(metadata.get("model_response")).get("id"))


def _input(name: str, args: Event, event: Event) -> str:
    """What the action was given, as a person would write it down."""
    if name == "run":
        return _string(args.get("command"))
    if name == "run_ipython":
        return _string(args.get("code"))
    if name == "think":
        return _string(args.get("thought"))
    if name == "message":
        return _string(args.get("content"))
    if name == "finish":
        return _string(args.get("final_thought")) or _string(event.get("message"))
    if name in ("edit", "write"):
        parts = [
            f"{part}: {args[part]}" for part in _EDIT_PARTS if isinstance(args.get(part), str | int) and args[part]
        ]
        return "\n".join([_string(args.get("path")), *parts])
    if name == "read":
        return _string(args.get("path"))
    return f"{name}: {json.dumps({key: value for key, value in args.items() if key != 'thought'}, ensure_ascii=False)}"


def _seconds(action: Event, observation: Event) -> float | None:
    try:
        began = datetime.fromisoformat(_string(action.get("timestamp")))
        ended = datetime.fromisoformat(_string(observation.get("timestamp")))
        return amount(round((ended - began).total_seconds(), 3))
    except (ValueError, TypeError, OverflowError):
        # Not a time, or one with and one without a zone.
        return None


def _costs(metrics: object) -> _Costs:
    given = _mapping(metrics)
    usages = [_mapping(usage) for usage in _list(given.get("token_usages"))]
    prices = [amount(_mapping(cost).get("cost")) for cost in _list(given.get("costs"))]
    # Both lists are in the order of the replies; where one has more, it cannot be told which price is whose.
    known = prices if len(prices) == len(usages) else [None] * len(usages)
    replies = {
        _string(usage.get("response_id")): (
            tokens(usage.get("prompt_tokens")),
            tokens(usage.get("completion_tokens")),
            price,
        )
        for usage, price in zip(usages, known, strict=True)
        if _string(usage.get("response_id"))
    }
    together = _mapping(given.get("accumulated_token_usage"))
    dollars = amount(given.get("accumulated_cost"))
    return _Costs(
        replies=replies,
        input_tokens=_total(together.get("prompt_tokens"), [usage.get("prompt_tokens") for usage in usages]),
        output_tokens=_total(together.get("completion_tokens"), [usage.get("completion_tokens") for usage in usages]),
        dollars=dollars,
    )


def _total(together: object, each: list[object]) -> int | None:
    """The sum that the file gives, else the sum of what it gives for each reply."""
    known = tokens(together)
    counted = [count for count in map(tokens, each) if count is not None]
    return known if known is not None else tokens(sum(counted)) if counted else None


def _mapping(value: object) -> Event:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
