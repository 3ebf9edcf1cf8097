"""Parse OpenHands' runs: ``output.jsonl``, lists and lines of events, and session folders with one event per file.

A line of ``output.jsonl`` is one run: ``instance_id``, ``history`` (events, or pairs of an action and its observation),
``metrics`` (costs and tokens, per reply of the model and in total) and ``error``. A session's events have the same data
in ``tool_call_metadata.model_response.usage`` (one reply) and ``llm_metrics`` (all replies so far).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from submissions.trajectories.steps import Action, AgentRun, Step, amount, tokens

SOURCE: Final = "openhands"
MAX_NAME: Final = 80

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
# Events of OpenHands itself rather than of the agent.
_LEFT_OUT: Final = frozenset(
    (
        *("recall", "system", "null", "change_agent_state", "condensation", "condensation_request"),
        *("pause", "resume", "stop"),
    )
)
# Known actions that the paper does not list.
_OTHERS: Final = frozenset(("browse", "browse_interactive", "call_tool_mcp", "delegate", "reject", "task_tracking"))
_AT_WORK: Final = frozenset(("loading", "init", "running", "finished", ""))
_EVENT_MARKS: Final = frozenset(("extras", "cause", "source"))
_SHOWN: Final = {"run": "command", "run_ipython": "code", "read": "path", "message": "content", "think": "thought"}
_EDIT_PARTS: Final = ("command", "file_text", "old_str", "new_str", "insert_line", "content")


@dataclass(frozen=True, slots=True)
class _Costs:
    """Tokens and cost of each reply of the model, by its id, and in total."""

    replies: Mapping[str, tuple[int | None, int | None, float | None]] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    dollars: float | None = None


def is_event(item: object) -> bool:
    """Return whether this is one event of OpenHands."""
    return (
        isinstance(item, dict)
        and (isinstance(item.get("action"), str) or isinstance(item.get("observation"), str))
        and (bool(_EVENT_MARKS & item.keys()))
    )


def not_understood(history: list[object]) -> tuple[int, list[object]]:
    """Return the number of entries in the history, and those that are neither an action nor an observation."""
    entries = [entry for item in history for entry in (item if isinstance(item, list) else [item])]
    named = ("action", "observation")
    others = [
        entry
        for entry in entries
        if not (isinstance(entry, dict) and any(isinstance(entry.get(name), str) for name in named))
    ]
    return len(entries), others


def unknown_kinds(history: list[object]) -> dict[str, int]:
    """Count the agent's actions of unknown kinds, which are shown as ``other``."""
    known = _ACTIONS.keys() | _LEFT_OUT | _OTHERS
    names = [_string(event.get("action")) for _, event in _events(history) if event.get("source") == "agent"]
    return Counter(name[:MAX_NAME] for name in names if name and name not in known)


def read_run(run: Event) -> AgentRun:
    """Parse a run with its ``history``."""
    history = _list(run.get("history"))
    costs = _costs(run.get("metrics")) if isinstance(run.get("metrics"), dict) else _costs_in(history)
    steps = tuple(_steps(history, costs))
    return AgentRun(
        source=SOURCE,
        steps=steps,
        ending=_ending(run.get("error"), steps, history),
        input_tokens=costs.input_tokens,
        output_tokens=costs.output_tokens,
        dollars=costs.dollars,
    )


def _ending(error: object, steps: tuple[Step, ...], history: list[object]) -> str:
    if isinstance(error, str) and error.strip():
        return error.strip()
    if steps and steps[-1].action is Action.FINISH:
        return "finished"
    reason = _last_reason(history)
    return f"stopped without finishing: {reason}" if reason else "stopped without finishing"


def _last_reason(history: list[object]) -> str:
    """Return why the run stopped, as OpenHands reports it: the last state change, or an error after the last step."""
    reason = ""
    for _, event in _events(history):
        extras, args = _mapping(event.get("extras")), _mapping(event.get("args"))
        if event.get("observation") == "agent_state_changed":
            stated = _string(extras.get("reason")) or _string(event.get("content"))
            state = _string(extras.get("agent_state"))
            # A state without its own reason does not replace the preceding error.
            reason = stated or reason or (state if state not in _AT_WORK else "")
            reason = "" if state in _AT_WORK else reason
        elif event.get("action") == "change_agent_state" and _string(args.get("agent_state")) not in _AT_WORK:
            reason = reason or _string(args.get("agent_state"))
        elif event.get("observation") == "error":
            reason = _string(event.get("content")) or _string(event.get("message"))
        elif event.get("source") == "agent" and isinstance(event.get("action"), str):
            reason = "its last message waited for an answer" if event["action"] == "message" else ""
    return " ".join(reason.split())


def _steps(history: list[object], costs: _Costs) -> Iterator[Step]:
    observations = _observations(history)
    counted: set[str] = set()
    for place, event in _events(history):
        name = event.get("action")
        if not isinstance(name, str) or name in _LEFT_OUT or event.get("source") != "agent":
            continue
        observation = observations.get(_id(event.get("id"))) or observations.get(f"after {place}") or {}
        reply = _reply_id(event)
        # One reply may call several actions: its usage is counted with the first.
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
    """Yield every event with its number, including those in nested lists."""
    number = 0
    for item in history:
        for event in item if isinstance(item, list) else [item]:
            if isinstance(event, dict):
                yield number, event
                number += 1


def _observations(history: list[object]) -> dict[str, Event]:
    """Return observations by their action: the id in ``cause``, or the number of the preceding event."""
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
    """Return the action's input as readable text."""
    if name in _SHOWN:
        return _string(args.get(_SHOWN[name]))
    if name == "finish":
        return _string(args.get("final_thought")) or _string(event.get("message"))
    if name in ("edit", "write"):
        parts = [
            f"{part}: {args[part]}" for part in _EDIT_PARTS if isinstance(args.get(part), str | int) and args[part]
        ]
        return "\n".join([_string(args.get("path")), *parts])
    return f"{name}: {json.dumps({key: value for key, value in args.items() if key != 'thought'}, ensure_ascii=False)}"


def _seconds(action: Event, observation: Event) -> float | None:
    try:
        began = datetime.fromisoformat(_string(action.get("timestamp")))
        ended = datetime.fromisoformat(_string(observation.get("timestamp")))
        return amount(round((ended - began).total_seconds(), 3))
    except (ValueError, TypeError, OverflowError):
        # Not a time, or only one of them has a time zone.
        return None


def _costs(metrics: object) -> _Costs:
    given = _mapping(metrics)
    usages = [_mapping(usage) for usage in _list(given.get("token_usages"))]
    prices = [amount(_mapping(cost).get("cost")) for cost in _list(given.get("costs"))]
    # Both lists are in the order of the replies; if their lengths differ, prices cannot be assigned.
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


def _costs_in(history: list[object]) -> _Costs:
    """Return the costs in a session's events: the replies' own usage, and the newest sums of ``llm_metrics``."""
    replies: dict[str, tuple[int | None, int | None, float | None]] = {}
    newest: Event = {}
    for _, event in _events(history):
        newest = _mapping(event.get("llm_metrics")) or newest
        response = _mapping(_mapping(event.get("tool_call_metadata")).get("model_response"))
        usage, name = _mapping(response.get("usage")), _string(response.get("id"))
        if name and usage:
            replies[name] = (tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens")), None)
    if newest:
        sums = _costs({**newest, "token_usages": [], "costs": []})
        if sums.input_tokens is not None or sums.dollars is not None:
            return replace(sums, replies=replies)
    return _Costs(
        replies=replies,
        input_tokens=_total(None, [reply[0] for reply in replies.values()]),
        output_tokens=_total(None, [reply[1] for reply in replies.values()]),
    )


def _total(together: object, each: list[object]) -> int | None:
    """Return the file's own sum, or else the sum over its replies."""
    known = tokens(together)
    counted = [count for count in map(tokens, each) if count is not None]
    return known if known is not None else tokens(sum(counted)) if counted else None


def _mapping(value: object) -> Event:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
