"""OpenAI's Responses: ``POST /v1/responses``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.provider_server.chat import error, strict_problem, tokens_of
from tests.provider_server.types import Answer, Failure, Question, Turn

__all__ = ["error", "parse", "render"]

ALLOWED = (
    "background include input instructions max_output_tokens max_tool_calls metadata model parallel_tool_calls "
    "previous_response_id prompt_cache_key reasoning safety_identifier service_tier store stream temperature text "
    "tool_choice tools top_logprobs top_p truncation user"
)
PARAMETERS = frozenset(ALLOWED.split())


def parse(body: Mapping[str, Any]) -> Question | Failure:
    """Check a request as OpenAI does."""
    unknown = sorted(set(body) - PARAMETERS)
    if unknown:
        return Failure("unknown_parameter", f"Unknown parameter: '{unknown[0]}'.", param=unknown[0])
    if body.get("stream"):
        return Failure("invalid", "Streaming is not offered here.", param="stream")
    tools = body.get("tools", [])
    for tool in tools:
        if tool.get("type") != "function" or (tool.get("strict") and strict_problem(tool.get("parameters", {}))):
            return Failure("invalid", "Invalid schema for function.", param="tools")
    form = (body.get("text") or {}).get("format") or {}
    schema = form.get("schema") if form.get("type") == "json_schema" else None
    if schema is not None and (strict_problem(schema) or not form.get("name")):
        return Failure("invalid", f"Invalid schema for text.format: {strict_problem(schema)}", param="text.format")
    given = body.get("input", "")
    turns = [Turn("user", given)] if isinstance(given, str) else _turns(given)
    if isinstance(turns, Failure):
        return turns
    return Question(
        api="responses",
        model=str(body.get("model", "")),
        system=body.get("instructions") or "",
        turns=tuple(turns),
        tools=tuple(tool["name"] for tool in tools),
        schema_name=form.get("name", ""),
        schema=schema,
        max_tokens=body.get("max_output_tokens"),
    )


def _turns(items: list[Any]) -> list[Turn] | Failure:
    """Items of one reply are one turn, as in the other protocols."""
    turns: list[Turn] = []
    open_calls: set[str] = set()
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "reasoning":
            if not item.get("encrypted_content"):
                return Failure("item", f"Item with id '{item.get('id')}' not found. Items are not persisted when "
                               "`store` is set to false.", param="input")  # fmt: skip
            turn = Turn("assistant", "")
        elif kind == "function_call":
            open_calls.add(item["call_id"])
            turn = Turn("assistant", "", 1)
        elif kind == "function_call_output":
            if item.get("call_id") not in open_calls:
                return Failure("invalid", f"No tool call found for function call output with call_id "
                               f"{item.get('call_id')}.", param="input")  # fmt: skip
            open_calls.discard(item["call_id"])
            turn = Turn("tool", item["output"])
        elif kind == "message" and item.get("role") in {"user", "assistant", "system", "developer"}:
            content = item.get("content")
            text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
            turn = Turn(item["role"], text)
        else:
            return Failure("invalid", f"Invalid value: '{kind}'.", param=f"input[{number}]")
        last = turns[-1] if turns else None
        if last is not None and last.role == turn.role == "assistant":
            turns[-1] = Turn("assistant", last.text + turn.text, last.calls + turn.calls)
        else:
            turns.append(turn)
    if open_calls:
        return Failure("invalid", f"No tool output found for function call {min(open_calls)}.", param="input")
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
    return {
        "id": ids("resp_"),
        "object": "response",
        "created_at": ids.now(),
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": question.system or None,
        "metadata": {},
        "model": question.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "max_output_tokens": question.max_tokens,
        "store": False,
        "truncation": "disabled",
        "usage": {
            "input_tokens": question.tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": len(answer.thinking) // 4},
            "total_tokens": question.tokens + written,
        },
    }
