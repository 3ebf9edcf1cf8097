"""OpenAI's Responses: ``POST /v1/responses``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.provider_server import chat
from tests.provider_server.chat import text_of, tokens_of, without_usage
from tests.provider_server.types import Answer, Failure, Question, Turn

ALLOWED = (
    "background include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls "
    "previous_response_id prompt_cache_key reasoning safety_identifier service_tier store stream temperature text "
    "tool_choice tools top_logprobs top_p truncation user"
)
PARAMETERS = frozenset(ALLOWED.split())


def error(failure: Failure, request_id: str) -> tuple[int, dict[str, Any]]:
    """Status and body of an error, in OpenAI's form; an error in mid-answer fails the response."""
    if failure.kind != "half":
        return chat.error(failure, request_id)
    part = {"type": "output_text", "text": failure.written, "annotations": []}
    output = [{"type": "message", "role": "assistant", "status": "incomplete", "content": [part]}]
    problem = {"code": "server_error", "message": failure.message}
    usage = dict(zip(("input_tokens", "output_tokens"), chat.HALF_USED, strict=True))
    body = {"object": "response", "status": "failed", "error": problem, "output": output, "usage": usage}
    return 200, body if failure.usage else chat.without_usage(body)


def parse(body: Mapping[str, Any]) -> Question | Failure:
    """Parse a request; a parameter that OpenAI does not know is refused."""
    unknown = sorted(set(body) - PARAMETERS)
    if unknown:
        return Failure("unknown_parameter", f"Unknown parameter: '{unknown[0]}'.", param=unknown[0])
    given = body.get("input", "")
    return Question(
        model=str(body.get("model", "")),
        system=body.get("instructions") or "",
        turns=(Turn("user", given),) if isinstance(given, str) else tuple(_turns(given)),
        tools=tuple(tool["name"] for tool in body.get("tools", [])),
        schema=((body.get("text") or {}).get("format") or {}).get("schema"),
    )


def _turns(items: list[Any]) -> list[Turn]:
    """All items of one reply form one turn, as in the other protocols."""
    turns: list[Turn] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            turn = Turn("tool", item["output"])
        elif kind == "message":
            turn = Turn(item["role"], text_of(item.get("content")))
        else:
            turn = Turn("assistant", "", int(kind == "function_call"))
        if turns and turns[-1].role == turn.role == "assistant":
            turn = Turn("assistant", turns[-1].text + turn.text, turns.pop().calls + turn.calls)
        turns.append(turn)
    return turns


def render(question: Question, answer: Answer, ids: Any, cached: int) -> dict[str, Any]:
    """A response. ``ids`` makes ids from prefixes; ``cached`` of the prompt's tokens were read from the cache."""
    output: list[dict[str, Any]] = []
    if answer.thinking:
        output.append({"type": "reasoning", "id": ids("rs_"), "summary": [], "encrypted_content": "c2VhbGVk"})
    if answer.text or not answer.calls:
        part = (
            {"type": "refusal", "refusal": answer.text}
            if answer.finish == "refusal"
            else {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        )
        status = "incomplete" if answer.finish in {"length", "filter"} else "completed"
        output.append({"type": "message", "id": ids("msg_"), "status": status, "role": "assistant", "content": [part]})
    output += [
        {
            "type": "function_call",
            "id": ids("fc_"),
            "call_id": ids("call_"),
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        for call in answer.calls
    ]
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(answer.finish)
    written = tokens_of(answer)
    body = {
        "id": ids("resp_"),
        "object": "response",
        "created_at": ids.now(),
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": question.model,
        "output": output,
        "usage": {
            "input_tokens": question.tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": len(answer.thinking) // 4},
            "total_tokens": question.tokens + written,
        },
    }
    return body if answer.usage else without_usage(body)
