"""Differences of known providers from the plain protocols: ``/<dialect>/v1/…`` answers as that provider does.

``DIALECTS`` describes them; docs/endpoints.md has the same table for people who register an endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.provider_server.types import Answer, Failure

Body = Mapping[str, Any]
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
RENAMED = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
EXTRA = "Extra inputs are not permitted"
THOUGHT = "First the shape, then the values."
ALLOWED_BY_MISTRAL = (
    "model messages temperature top_p max_tokens stream stop random_seed response_format tools tool_choice n "
    "presence_penalty frequency_penalty parallel_tool_calls prompt_mode reasoning_effort safe_prompt metadata"
)
KNOWN_TO_MISTRAL = frozenset(ALLOWED_BY_MISTRAL.split())


def _refuses_nothing(_: Body) -> Failure | None:
    return None


def _same_reply(body: dict[str, Any], _: Answer) -> dict[str, Any]:
    return body


def _same_error(status: int, body: dict[str, Any], _: Failure) -> tuple[int, dict[str, Any]]:
    return status, body


def _same_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    return headers


@dataclass(frozen=True, slots=True)
class Dialect:
    """One provider's differences. ``summary`` names them; ``padding`` are bytes before a reply's JSON."""

    summary: str
    paths: frozenset[str] = frozenset({CHAT})
    refuses: Callable[[Body], Failure | None] = _refuses_nothing
    reply: Callable[[dict[str, Any], Answer], dict[str, Any]] = _same_reply
    error: Callable[[int, dict[str, Any], Failure], tuple[int, dict[str, Any]]] = _same_error
    padding: bytes = b""
    ignores_unknown: bool = False
    headers: Callable[[Mapping[str, str]], Mapping[str, str]] = _same_headers


def _wants_the_newer_name(body: Body) -> Failure | None:
    return Failure("unsupported_parameter", RENAMED, param="max_tokens") if "max_tokens" in body else None


def _in_milliseconds(headers: Mapping[str, str]) -> Mapping[str, str]:
    exact = {"Retry-After-Ms": str(int(headers["Retry-After"]) * 1000)} if "Retry-After" in headers else {}
    return {**headers, **exact}


def _filtered(body: dict[str, Any], _: Answer) -> dict[str, Any]:
    safe = {"hate": {"filtered": False, "severity": "safe"}}
    choices = [{**choice, "content_filter_results": safe} for choice in body["choices"]]
    return {**body, "choices": choices, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": safe}]}


def _routed(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    message = {**body["choices"][0]["message"], "reasoning": answer.thinking or None}
    first = {**body["choices"][0], "native_finish_reason": "STOP", "message": message}
    return {**body, "provider": "Upstream", "choices": [first, *body["choices"][1:]]}


def _upstream_error(status: int, body: dict[str, Any], failure: Failure) -> tuple[int, dict[str, Any]]:
    """OpenRouter's own refusals have a status; errors of its upstream come with status 200."""
    if "choices" in body:
        return status, body
    error: dict[str, Any] = {"message": failure.message, "code": status}
    if failure.kind == "moderated":
        flags = {"reasons": ["violence"], "flagged_input": "attack", "provider_name": "Upstream"}
        return 403, {"error": {"message": failure.message, "code": 403, "metadata": flags}}
    if failure.kind not in {"down", "bad_call"}:
        return status, {"error": error}
    raw = {"raw": f"{body['error']['code']}: {failure.message}", "provider_name": "Upstream"}
    return 200, {"error": {"message": "Provider returned error", "code": max(status, 400), "metadata": raw}}


def _mistral_refuses(body: Body) -> Failure | None:
    unknown = sorted(set(body) - KNOWN_TO_MISTRAL)
    if unknown:
        detail = [{"type": "extra_forbidden", "loc": ["body", unknown[0]], "msg": EXTRA, "input": body[unknown[0]]}]
        return Failure("unprocessable", EXTRA, detail=tuple(detail))
    for message in body["messages"]:
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            return Failure("invalid", "Assistant message must have either content or tool_calls, but not none.")
    return None


def _in_parts(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    message = body["choices"][0]["message"]
    if not message["content"]:
        return body
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": answer.thinking or THOUGHT}]}
    parts = [thought, {"type": "text", "text": message["content"]}]
    return {**body, "choices": [{**body["choices"][0], "message": {**message, "content": parts}}]}


def _flat(status: int, body: dict[str, Any], failure: Failure) -> tuple[int, dict[str, Any]]:
    message = {"detail": list(failure.detail)} if failure.detail else failure.message
    error = body.get("error")
    if error is None:
        return status, body
    return status, {"object": "error", "message": message, "type": error["type"], "param": None, "code": error["code"]}


def _ollama_error(status: int, body: dict[str, Any], failure: Failure) -> tuple[int, dict[str, Any]]:
    message, kind = failure.message, {404: "not_found_error", 400: "invalid_request_error"}.get(status, "api_error")
    if failure.kind == "bad_call":
        status, kind = 500, "api_error"
        message = f"error parsing tool call: raw='{failure.written}', err=unexpected end of JSON input"
    return status, {"error": {"message": message, "type": kind, "param": None, "code": None}}


def _with_reasoning_beside(body: dict[str, Any], answer: Answer) -> dict[str, Any]:
    message = body["choices"][0]["message"]
    beside = {"reasoning_content": answer.thinking or THOUGHT, "tool_calls": message.get("tool_calls", [])}
    return {**body, "choices": [{**body["choices"][0], "message": {**message, **beside}, "stop_reason": None}]}


def _vllm_error(status: int, body: dict[str, Any], failure: Failure) -> tuple[int, dict[str, Any]]:
    names = {400: "BadRequestError", 404: "NotFoundError"}
    error = {"message": failure.message, "type": names.get(status, "InternalServerError"), "param": None}
    return status, {"object": "error", **error, "code": status} if "error" in body else body


def _refuses_strict(body: Body) -> Failure | None:
    place = next((number for number, tool in enumerate(body.get("tools", [])) if "strict" in tool), None)
    return None if place is None else Failure("invalid", f"tools.{place}.custom.strict: {EXTRA}")


def _bare(body: dict[str, Any], _: Answer) -> dict[str, Any]:
    left_out = {"usage", "type"}
    blocks = [
        {name: value for name, value in block.items() if block["type"] != "text" or name != "type"}
        for block in body["content"]
    ]
    return {**{name: value for name, value in body.items() if name not in left_out}, "content": blocks}


def _always_well(_: int, body: dict[str, Any], __: Failure) -> tuple[int, dict[str, Any]]:
    return 200, body


DIALECTS: Final[Mapping[str, Dialect]] = {
    "openai": Dialect("refuses max_tokens", frozenset({CHAT, RESPONSES}), refuses=_wants_the_newer_name),
    "azure": Dialect(
        "refuses max_tokens, adds filter results, says in milliseconds how long to wait",
        frozenset({CHAT, RESPONSES}),
        refuses=_wants_the_newer_name,
        reply=_filtered,
        headers=_in_milliseconds,
    ),
    "openrouter": Dialect(
        "blank lines before JSON, upstream errors with status 200, errors in a choice",
        reply=_routed,
        error=_upstream_error,
        padding=b"\n         \n\n         \n",
    ),
    "mistral": Dialect(
        "content in parts, refuses unknown parameters (422) and empty turns, flat errors",
        refuses=_mistral_refuses,
        reply=_in_parts,
        error=_flat,
        ignores_unknown=True,
    ),
    "groq": Dialect("400 tool_use_failed for a tool call that it cannot read"),
    "ollama": Dialect(
        "500 for a tool call that it cannot read, ignores unknown parameters", error=_ollama_error, ignores_unknown=True
    ),
    "vllm": Dialect(
        "reasoning beside the content, flat errors with a number as code",
        reply=_with_reasoning_beside,
        error=_vllm_error,
    ),
    "anthropic": Dialect("the plain Messages", frozenset({MESSAGES})),
    "anthropic-proxy": Dialect(
        "refuses strict, errors with status 200, no usage, no types",
        frozenset({MESSAGES}),
        refuses=_refuses_strict,
        reply=_bare,
        error=_always_well,
    ),
}
PLAIN: Final = Dialect("the plain protocols", frozenset({CHAT, RESPONSES, MESSAGES}))


def split(path: str) -> tuple[Dialect, str]:
    """The dialect that a request's path names, and the path without it."""
    name, _, rest = path.removeprefix("/").partition("/")
    return (DIALECTS[name], f"/{rest}") if name in DIALECTS else (PLAIN, path)
