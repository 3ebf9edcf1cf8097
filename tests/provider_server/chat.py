"""OpenAI's Chat Completions: ``POST /v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.provider_server.types import Answer, Failure, Question, Turn

ALLOWED = (
    "messages model frequency_penalty logprobs max_completion_tokens max_tokens metadata n parallel_tool_calls "
    "presence_penalty prompt_cache_key reasoning_effort response_format seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity"
)
PARAMETERS = frozenset(ALLOWED.split())
FINISH = {"stop": "stop", "length": "length", "refusal": "stop", "filter": "content_filter"}
# status, type, code
ERRORS: Mapping[str, tuple[int, str, str | None]] = {
    "invalid": (400, "invalid_request_error", None),
    "unknown_parameter": (400, "invalid_request_error", "unknown_parameter"),
    "too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "key": (401, "invalid_request_error", "invalid_api_key"),
    "model": (404, "invalid_request_error", "model_not_found"),
    "item": (404, "invalid_request_error", None),
    "busy": (429, "requests", "rate_limit_exceeded"),
    "quota": (429, "insufficient_quota", "insufficient_quota"),
    "down": (500, "server_error", None),
    "overloaded": (503, "server_error", None),
}


def error(failure: Failure, _: str) -> tuple[int, dict[str, Any]]:
    """Status and body of an error, in OpenAI's form."""
    status, kind, code = ERRORS[failure.kind]
    return status, {"error": {"message": failure.message, "type": kind, "param": failure.param, "code": code}}


def parse(body: Mapping[str, Any]) -> Question | Failure:
    """Check a request as OpenAI does."""
    unknown = sorted(set(body) - PARAMETERS)
    if unknown:
        return Failure("unknown_parameter", f"Unknown parameter: '{unknown[0]}'.", param=unknown[0])
    if body.get("stream"):
        return Failure("invalid", "Streaming is not offered here.", param="stream")
    if "max_tokens" in body and "max_completion_tokens" in body:
        return Failure("invalid", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return Failure("invalid", "Invalid 'messages': empty array.", param="messages")
    turns = _turns(messages)
    if isinstance(turns, Failure):
        return turns
    for tool in body.get("tools", []):
        problem = strict_problem(tool.get("function", {}).get("parameters", {}))
        if tool.get("type") != "function" or (tool["function"].get("strict") and problem):
            return Failure("invalid", f"Invalid schema for function: {problem}", param="tools")
    form = body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema") if form.get("type") == "json_schema" else None
    if schema is not None and form["json_schema"].get("strict") and strict_problem(schema):
        return Failure(
            "invalid", f"Invalid schema for response_format: {strict_problem(schema)}", param="response_format"
        )
    return Question(
        api="chat",
        model=str(body.get("model", "")),
        system="\n".join(turn.text for turn in turns if turn.role == "system"),
        turns=tuple(turn for turn in turns if turn.role != "system"),
        tools=tuple(tool["function"]["name"] for tool in body.get("tools", [])),
        schema_name=form.get("json_schema", {}).get("name", ""),
        schema=schema,
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
    )


def _turns(messages: list[Any]) -> list[Turn] | Failure:
    turns, open_calls = [], set()
    for number, message in enumerate(messages):
        role, where = message.get("role"), f"messages.[{number}]"
        content = message.get("content") or ""
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                return Failure("invalid", "messages with role 'tool' must be a response to a preceding message with "
                               "'tool_calls'.", param=f"{where}.role")  # fmt: skip
            open_calls.discard(message["tool_call_id"])
        elif open_calls:
            return Failure("invalid", "An assistant message with 'tool_calls' must be followed by tool messages "
                           "responding to each 'tool_call_id'.", param=f"{where}.role")  # fmt: skip
        elif role not in {"system", "developer", "user", "assistant"}:
            return Failure("invalid", f"Invalid value: '{role}'.", param=f"{where}.role")
        calls = message.get("tool_calls") or []
        open_calls |= {call["id"] for call in calls}
        turns.append(Turn("system" if role == "developer" else role, text, len(calls)))
    return turns if not open_calls else Failure("invalid", "tool_call_ids did not have response messages.")


def strict_problem(schema: Mapping[str, Any]) -> str:
    """What strict mode objects to in a schema; empty when nothing."""
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        if sorted(schema.get("required", [])) != sorted(properties):
            return "'required' is required to be supplied and to be an array including every key in properties."
        return next((problem for inner in properties.values() if (problem := strict_problem(inner))), "")
    return strict_problem(schema["items"]) if schema.get("type") == "array" else ""


def render(question: Question, answer: Answer, ids: Any, cached: int) -> dict[str, Any]:
    """A completion. ``ids`` makes ids from prefixes; ``cached`` of the prompt's tokens were read from the cache."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text or (None if answer.calls else ""),
        "refusal": None,
        "annotations": [],
    }
    if answer.finish == "refusal":
        message |= {"content": None, "refusal": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {"id": ids("call_"), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.calls
        ]
    finish = "tool_calls" if answer.calls else FINISH[answer.finish]
    written = tokens_of(answer)
    return {
        "id": ids("chatcmpl-"),
        "object": "chat.completion",
        "created": ids.now(),
        "model": question.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": question.tokens,
            "completion_tokens": written,
            "total_tokens": question.tokens + written,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": None,
    }


def tokens_of(answer: Answer) -> int:
    """How many tokens an answer has, four characters each."""
    written = answer.text + answer.thinking + "".join(call.name + call.arguments for call in answer.calls)
    return max(1, len(written) // 4)
