"""Read trajectories of other agents: one object for each step or message, by the names that most tools use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from submissions.trajectories.steps import Action, AgentRun, Step, amount, tokens

SOURCE: Final = "generic"

_NAMES: Final = ("action", "tool", "tool_name", "name", "kind", "type", "event")
_INPUTS: Final = (
    *("input", "action_input", "tool_input", "command", "args", "arguments", "code"),
    *("content", "text", "message"),
)
_OBSERVATIONS: Final = ("observation", "output", "tool_output", "result", "response", "stdout")
_THOUGHTS: Final = ("thought", "thinking", "reasoning", "reasoning_content")
_COSTS: Final = ("cost", "cost_usd", "dollars")
_SECONDS: Final = ("seconds", "duration", "execution_time")
# The first word of an action's name that is found decides.
_WORDS: Final = (
    (Action.FINISH, ("finish", "submit", "done", "complete")),
    (Action.EDIT, ("edit", "write", "replace", "patch", "create", "insert")),
    (Action.READ, ("read", "view", "open", "cat", "search", "grep", "find", "list")),
    (Action.RUN, ("run", "bash", "shell", "exec", "terminal", "command", "python")),
    (Action.MESSAGE, ("message", "assistant", "think", "say", "text")),
)


def read_objects(objects: list[dict[str, Any]]) -> tuple[AgentRun, int]:
    """The steps in ``objects``, and how many of these have no known field (those become ``other``)."""
    steps: list[Step] = []
    unknown = 0
    for item in objects:
        role = item.get("role")
        if role in ("system", "user", "developer"):
            continue
        if role in ("tool", "function") or _is_observation(item):
            _observe(steps, _text(item.get("content")) or _first(item, _OBSERVATIONS))
            continue
        made = _steps_of(item)
        unknown += not made
        steps += made or [Step(Action.OTHER, input=json.dumps(item, ensure_ascii=False))]
    finished = bool(steps) and steps[-1].action is Action.FINISH
    return AgentRun(
        source=SOURCE,
        steps=tuple(steps),
        ending="finished" if finished else "",
        input_tokens=_sum([step.input_tokens for step in steps]),
        output_tokens=_sum([step.output_tokens for step in steps]),
        dollars=amount(sum(step.dollars for step in steps if step.dollars is not None))
        if any(step.dollars is not None for step in steps)
        else None,
    ), unknown


def _is_observation(item: Mapping[str, Any]) -> bool:
    """Whether this only says what came of the step before."""
    said = {*item} & {*_NAMES[:4], *_INPUTS, *_THOUGHTS}
    return not said and bool({*item} & {*_OBSERVATIONS})


def _observe(steps: list[Step], text: str) -> None:
    """Add what came of the last step; to a second one that stands alone."""
    if steps and not steps[-1].observation:
        steps[-1] = replace(steps[-1], observation=text)
    else:
        steps.append(Step(Action.OTHER, observation=text))


def _steps_of(item: Mapping[str, Any]) -> list[Step]:
    """The steps of one object: a call each where it lists some, else itself; none where no field is known."""
    read, written = _usage(item)
    first = Step(
        Action.OTHER,
        observation=_first(item, _OBSERVATIONS),
        thought=_first(item, _THOUGHTS),
        seconds=_number(item, _SECONDS),
        dollars=_number(item, _COSTS),
        input_tokens=read,
        output_tokens=written,
    )
    calls = item.get("tool_calls")
    if isinstance(calls, list) and calls:
        spoken = replace(first, thought=_text(item.get("content")) or first.thought)
        made = [_call(call) for call in calls if isinstance(call, dict)]
        # One reply asked for all of them: it is counted with the first.
        return [
            replace(spoken if place == 0 else Step(Action.OTHER), action=action, input=text)
            for place, (action, text) in enumerate(made)
        ]
    name = _first(item, _NAMES) if item.get("role") != "assistant" else "message"
    given = _first(item, _INPUTS)
    if not (given or first.observation or first.thought or _action(name) is not Action.OTHER):
        return []
    if isinstance(item.get("action"), str) and not given:
        # The whole action is one text, such as a command line.
        given = name
    return [replace(first, action=_action(name), input=given)]


def _call(call: Mapping[str, Any]) -> tuple[Action, str]:
    function = call.get("function")
    named: Mapping[str, Any] = function if isinstance(function, dict) else call
    name = _text(named.get("name"))
    return _action(name), "\n".join(part for part in (name, _first(named, ("arguments", "input"))) if part)


def _action(name: str) -> Action:
    words = name.lower()[:80]
    return next((action for action, known in _WORDS if any(word in words for word in known)), Action.OTHER)


def _usage(item: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Tokens in and out, from the object's ``usage`` or that of the reply in it."""
    for holder in (item, item.get("response"), item.get("model_response")):
        usage = holder.get("usage") if isinstance(holder, dict) else None
        if isinstance(usage, dict):
            read = usage.get("prompt_tokens", usage.get("input_tokens"))
            return tokens(read), tokens(usage.get("completion_tokens", usage.get("output_tokens")))
    return None, None


def _first(item: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these fields that says anything."""
    return next((text for name in names if (text := _text(item.get(name)))), "")


def _text(value: object) -> str:
    """A field as text: a string, the texts of a message's parts, or JSON."""
    if isinstance(value, str):
        return value.strip("\n")
    if (
        isinstance(value, list)
        and value
        and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in value)
    ):
        return "\n".join(part["text"] for part in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) and value else ""


def _number(item: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    return next((number for name in names if (number := amount(item.get(name))) is not None), None)


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return tokens(sum(known)) if known else None
