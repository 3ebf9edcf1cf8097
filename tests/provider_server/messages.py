"""Anthropic's Messages: ``POST /v1/messages``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.provider_server.chat import text_of, tokens_of, without_usage
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
    "busy": (429, "rate_limit_error"),
    "quota": (402, "billing_error"),
    "down": (500, "api_error"),
    "bad_call": (400, "invalid_request_error"),
    "moderated": (400, "invalid_request_error"),
    "half": (200, "overloaded_error"),
}


def error(failure: Failure, request_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body of an error, in Anthropic's form."""
    status, kind = ERRORS[failure.kind]
    message = failure.message if failure.kind != "too_long" else "prompt is too long: 300000 tokens > 200000 maximum"
    return status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def parse(body: Mapping[str, Any]) -> Question | Failure:
    """Parse a request. Sampling parameters are refused like unknown ones: Anthropic's current models have none."""
    unknown = sorted(set(body) - PARAMETERS)
    if unknown:
        return Failure("unknown_parameter", f"{unknown[0]}: Extra inputs are not permitted")
    if not isinstance(body.get("max_tokens"), int):
        return Failure("invalid", "max_tokens: Field required")
    return Question(
        model=str(body.get("model", "")),
        system=text_of(body.get("system")),
        turns=tuple(_turn(message["role"], message["content"]) for message in body["messages"]),
        tools=tuple(tool["name"] for tool in body.get("tools", [])),
        schema=((body.get("output_config") or {}).get("format") or {}).get("schema"),
    )


def _turn(role: str, content: Any) -> Turn:
    kinds = [] if isinstance(content, str) else [block["type"] for block in content]
    return Turn("tool" if "tool_result" in kinds else role, text_of(content), kinds.count("tool_use"))


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
    body = {
        "id": ids("msg_"),
        "type": "message",
        "role": "assistant",
        "model": question.model,
        "content": content,
        "stop_reason": "tool_use" if answer.calls else FINISH[answer.finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": question.tokens - cached,
            "cache_read_input_tokens": cached,
            "output_tokens": tokens_of(answer),
        },
    }
    return body if answer.usage else without_usage(body)


def as_object(arguments: str) -> dict[str, Any]:
    """Anthropic parses the arguments that its models write; invalid ones become an empty object."""
    try:
        found = json.loads(arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
