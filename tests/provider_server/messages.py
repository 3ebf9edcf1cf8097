"""Anthropic's Messages: ``POST /v1/messages``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.provider_server.chat import strict_problem, tokens_of
from tests.provider_server.types import Answer, Failure, Question, Turn

ALLOWED = (
    "max_tokens messages model cache_control container metadata output_config service_tier stop_sequences stream "
    "system thinking tool_choice tools"
)
PARAMETERS = frozenset(ALLOWED.split())
FINISH = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal", "filter": "refusal"}
ERRORS: Mapping[str, tuple[int, str]] = {
    "invalid": (400, "invalid_request_error"),
    "unknown_parameter": (400, "invalid_request_error"),
    "too_long": (400, "invalid_request_error"),
    "key": (401, "authentication_error"),
    "model": (404, "not_found_error"),
    "item": (404, "not_found_error"),
    "busy": (429, "rate_limit_error"),
    "quota": (402, "billing_error"),
    "down": (500, "api_error"),
    "overloaded": (529, "overloaded_error"),
}


def error(failure: Failure, request_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body of an error, in Anthropic's form."""
    status, kind = ERRORS[failure.kind]
    message = failure.message if failure.kind != "too_long" else "prompt is too long: 300000 tokens > 200000 maximum"
    return status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def parse(body: Mapping[str, Any]) -> Question | Failure:
    """Check a request as Anthropic does. Sampling parameters are refused: its models have none any more."""
    unknown = sorted(set(body) - PARAMETERS)
    if unknown:
        return Failure("unknown_parameter", f"{unknown[0]}: Extra inputs are not permitted")
    if body.get("stream"):
        return Failure("invalid", "stream: Streaming is not offered here.")
    if not isinstance(body.get("max_tokens"), int):
        return Failure("invalid", "max_tokens: Field required")
    turns = _turns(body.get("messages") or [])
    if isinstance(turns, Failure):
        return turns
    for tool in body.get("tools", []):
        if tool.get("strict") and strict_problem(tool.get("input_schema", {})):
            return Failure("invalid", f"tools: {strict_problem(tool['input_schema'])}")
    form = (body.get("output_config") or {}).get("format") or {}
    schema = form.get("schema") if form.get("type") == "json_schema" else None
    if schema is not None and strict_problem(schema):
        return Failure("invalid", f"output_config.format.schema: {strict_problem(schema)}")
    system = body.get("system") or ""
    return Question(
        api="messages",
        model=str(body.get("model", "")),
        system=system if isinstance(system, str) else "".join(block["text"] for block in system),
        turns=tuple(turns),
        tools=tuple(tool["name"] for tool in body.get("tools", [])),
        schema=schema,
        max_tokens=body["max_tokens"],
    )


def _turns(messages: list[Any]) -> list[Turn] | Failure:
    if not messages or messages[0].get("role") != "user":
        return Failure("invalid", 'messages: first message must use the "user" role')
    turns: list[Turn] = []
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message.get("role") not in {"user", "assistant"} or not blocks:
            return Failure("invalid", f"messages.{number}: a role and content are required")
        results = {block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"}
        if results != open_calls:
            problem = "`tool_use` blocks must each have a `tool_result` block in the next message, and no others"
            return Failure("invalid", f"messages.{number}: {problem}")
        if any(block.get("type") == "text" and not block.get("text") for block in blocks):
            return Failure("invalid", f"messages.{number}: text content blocks must be non-empty")
        open_calls = {block["id"] for block in blocks if block.get("type") == "tool_use"}
        text = "\n".join(block.get("text") or str(block.get("content") or "") for block in blocks)
        turns.append(Turn("tool" if results else message["role"], text, len(open_calls)))
    return turns


def render(question: Question, answer: Answer, ids: Any, cached: int) -> dict[str, Any]:
    """A message. ``ids`` makes ids from prefixes; ``cached`` tokens are not part of ``input_tokens`` here."""
    content: list[dict[str, Any]] = []
    if answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": "c2lnbmVk"})
    if answer.text:
        content.append({"type": "text", "text": answer.text, "citations": None})
    content += [
        {"type": "tool_use", "id": ids("toolu_"), "name": call.name, "input": as_object(call.arguments)}
        for call in answer.calls
    ]
    return {
        "id": ids("msg_"),
        "type": "message",
        "role": "assistant",
        "model": question.model,
        "content": content,
        "stop_reason": "tool_use" if answer.calls else FINISH[answer.finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": question.tokens - cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached,
            "output_tokens": tokens_of(answer),
            "service_tier": "standard",
        },
    }


def as_object(arguments: str) -> dict[str, Any]:
    """Anthropic parses what its models write; what cannot be parsed comes as an empty object."""
    try:
        found = json.loads(arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
