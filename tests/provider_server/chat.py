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
HALF_USED = (400, 8)
"""Tokens in and out that are reported for a half answer."""
# status, type, code
ERRORS: Mapping[str, tuple[int, str, str | None]] = {
    "invalid": (400, "invalid_request_error", None),
    "unknown_parameter": (400, "invalid_request_error", "unknown_parameter"),
    "unsupported_parameter": (400, "invalid_request_error", "unsupported_parameter"),
    "unprocessable": (422, "invalid_request_error", None),
    "bad_call": (400, "invalid_request_error", "tool_use_failed"),
    "form": (400, "invalid_request_error", "json_validate_failed"),
    "moderated": (400, "invalid_request_error", "content_filter"),
    "half": (502, "upstream_error", None),
    "too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "key": (401, "invalid_request_error", "invalid_api_key"),
    "model": (404, "invalid_request_error", "model_not_found"),
    "busy": (429, "requests", "rate_limit_exceeded"),
    "quota": (429, "insufficient_quota", "insufficient_quota"),
    "down": (500, "server_error", None),
}


def error(failure: Failure, _: str) -> tuple[int, dict[str, Any]]:
    """Status and body of an error, in OpenAI's form; an error in mid-answer belongs to a choice, as at OpenRouter."""
    status, kind, code = ERRORS[failure.kind]
    if failure.kind == "half":
        problem = {"code": status, "message": failure.message}
        message = {"role": "assistant", "content": failure.written}
        body = {
            "choices": [{"index": 0, "message": message, "finish_reason": "error", "error": problem}],
            "usage": {"prompt_tokens": HALF_USED[0], "completion_tokens": HALF_USED[1]},
        }
        return 200, body if failure.usage else without_usage(body)
    if failure.kind in {"bad_call", "form"}:
        problem = {"message": failure.message, "type": kind, "code": code, "failed_generation": failure.written}
        return status, {"error": problem}
    return status, {"error": {"message": failure.message, "type": kind, "param": failure.param, "code": code}}


def parse(body: Mapping[str, Any]) -> Question | Failure:
    """Parse a request; a parameter that OpenAI does not know is refused."""
    unknown = sorted(set(body) - PARAMETERS)
    if unknown:
        return Failure("unknown_parameter", f"Unknown parameter: '{unknown[0]}'.", param=unknown[0])
    turns = [
        Turn(message["role"], text_of(message.get("content")), len(message.get("tool_calls") or []))
        for message in body["messages"]
    ]
    form = (body.get("response_format") or {}).get("json_schema", {})
    return Question(
        model=str(body.get("model", "")),
        system="\n".join(turn.text for turn in turns if turn.role == "system"),
        turns=tuple(turn for turn in turns if turn.role != "system"),
        tools=tuple(tool["function"]["name"] for tool in body.get("tools", [])),
        schema=form.get("schema"),
    )


def text_of(content: Any) -> str:
    """The text of a message's content, which is text or a list of parts."""
    return content if isinstance(content, str) else "\n".join(part.get("text") or "" for part in content or [])


def render(question: Question, answer: Answer, ids: Any, cached: int) -> dict[str, Any]:
    """A completion. ``ids`` makes ids from prefixes; ``cached`` of the prompt's tokens were read from the cache."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text or (None if answer.calls else ""),
        "refusal": None,
    }
    if answer.finish == "refusal":
        message |= {"content": None, "refusal": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {"id": ids("call_"), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.calls
        ]
    finish = "tool_calls" if answer.calls else FINISH[answer.finish]
    messages = [message]
    if answer.spread:
        calls = message.pop("tool_calls", [])
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]} for call in calls]
    written = tokens_of(answer)
    body = {
        "id": ids("chatcmpl-"),
        "object": "chat.completion",
        "created": ids.now(),
        "model": question.model,
        "choices": [
            {"index": place, "message": each, "logprobs": None, "finish_reason": finish}
            for place, each in enumerate(messages)
        ],
        "usage": {
            "prompt_tokens": question.tokens,
            "completion_tokens": written,
            "total_tokens": question.tokens + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }
    return body if answer.usage else without_usage(body)


def without_usage(body: dict[str, Any]) -> dict[str, Any]:
    """Remove the usage, as in a reply of a server that counts no tokens."""
    return {name: value for name, value in body.items() if name != "usage"}


def tokens_of(answer: Answer) -> int:
    """How many tokens an answer has, four characters each."""
    written = answer.text + answer.thinking + "".join(call.name + call.arguments for call in answer.calls)
    return max(1, len(written) // 4)
