"""Convert a stored request or response of any provider to readable turns.

Responses come from untrusted servers, so every shape is accepted, and every text is limited.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from evaluator.providers.error_bodies import error_of, model_error
from submissions.highlighting import with_visible_marks

LONGEST_TURN: Final = 60_000
LONGEST_JSON: Final = 200_000
LONGEST_FACT: Final = 300
MOST_TURNS: Final = 200
_DEEPEST: Final = 10


class Turn(NamedTuple):
    """One turn of a conversation. ``left_out`` counts the characters that are not shown."""

    role: str
    text: str
    left_out: int = 0


class Indented(NamedTuple):
    """The start of a body as indented JSON. ``is_cut``: there is more."""

    text: str
    is_cut: bool = False


def sent_turns(body: Any) -> list[Turn]:
    """Return the turns of a request: instructions first, then the conversation."""
    if not isinstance(body, Mapping):
        return []
    turns = [_turn("system", _text(body[name])) for name in ("system", "instructions") if body.get(name)]
    for name in ("messages", "input"):
        messages = body.get(name)
        turns += [_turn("user", messages)] if isinstance(messages, str) else _conversation(messages)
    return turns[:MOST_TURNS]


def reply_turns(body: Any) -> list[Turn]:
    """Return the turns of a response: the model's answers, its reasoning if shown, and its tool calls."""
    if not isinstance(body, Mapping):
        return []
    if isinstance(body.get("choices"), list):
        messages = [choice.get("message") for choice in body["choices"] if isinstance(choice, Mapping)]
        return _conversation(messages)[:MOST_TURNS]
    if isinstance(body.get("output"), list):
        return _conversation(body["output"])[:MOST_TURNS]
    if "content" in body:
        return _conversation([{"role": body.get("role", "assistant"), "content": body["content"]}])
    error = error_of(body)
    failed = model_error(error) if error is not None else None
    return [_turn("assistant", failed.written)] if failed and failed.written else []


def other_facts(body: Any) -> list[tuple[str, str]]:
    """Return what else a request sets (limits, sampling, names of tools), by name."""
    if not isinstance(body, Mapping):
        return []
    facts = []
    for name, value in body.items():
        if name == "tools":
            facts.append((name, ", ".join(_tool_name(tool) for tool in value) if isinstance(value, list) else ""))
        elif name not in {"messages", "input", "system", "instructions"}:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            facts.append((name, text[:LONGEST_FACT]))
    return facts


def pretty(body: Any) -> Indented:
    """Return ``body`` as indented JSON.

    Encoding stops at the limit of what is shown: indentation turns 2 MB of deeply nested JSON into 140 MB.
    """
    text = ""
    for piece in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(body):
        text += piece[: LONGEST_JSON + 1]
        if len(text) > LONGEST_JSON:
            return Indented(text[:LONGEST_JSON], is_cut=True)
    return Indented(text)


def _conversation(messages: Any) -> list[Turn]:
    turns = []
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, Mapping):
            continue
        text = "\n\n".join(filter(None, [_text(message.get("content")), *_other_texts(message)]))
        turns.append(_turn(_role(message), text))
    return turns


def _role(message: Mapping[str, Any]) -> str:
    kind = message.get("type")
    if kind in ("function_call", "reasoning"):
        return "assistant"
    if kind == "function_call_output" or _only_results(message.get("content")):
        return "tool"
    return str(message.get("role") or "assistant")[:40]


def _only_results(content: Any) -> bool:
    """Return whether there are only tool results, which Anthropic's format sends as a user's turn."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in content)
    )


def _other_texts(message: Mapping[str, Any]) -> list[str]:
    """Return the texts of a message outside its content."""
    texts = [_text(message[name]) for name in ("refusal", "reasoning_content", "output") if message.get(name)]
    if message.get("type") == "reasoning":
        texts.append(_text(message.get("summary")))
    if message.get("type") == "function_call":
        texts.append(_tool_call(message.get("name"), message.get("arguments")))
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            texts.append(_tool_call(function.get("name"), function.get("arguments")))
    return texts


def _text(content: Any, depth: int = 0) -> str:
    """Return the text of a message's content: a string, or a list of parts."""
    if depth > _DEEPEST:
        return ""
    if isinstance(content, list):
        return "\n\n".join(filter(None, (_text(part, depth + 1) for part in content)))
    if not isinstance(content, Mapping):
        return content if isinstance(content, str) else "" if content is None else json.dumps(content)
    if content.get("type") == "tool_use":
        return _tool_call(content.get("name"), content.get("input"))
    for name in ("text", "thinking", "refusal", "content"):
        if name in content:
            return _text(content[name], depth + 1)
    return ""


def _tool_call(name: Any, arguments: Any) -> str:
    """Format a tool call with readable arguments: code in them has line breaks."""
    given = arguments
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return f"{name}: {arguments}"
    if not isinstance(given, Mapping):
        return f"{name}: {json.dumps(given, ensure_ascii=False)}"
    lines = [f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in given.items()]
    return "\n".join([f"{name}", *lines])


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, Mapping):
        return "?"
    function = tool.get("function")
    return str(tool.get("name") or (function.get("name") if isinstance(function, Mapping) else "?"))


def _turn(role: str, text: str) -> Turn:
    return Turn(role, with_visible_marks(text[:LONGEST_TURN]), max(0, len(text) - LONGEST_TURN))
