"""Clients for OpenAI's two interfaces, which many other servers implement: Chat Completions and Responses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from evaluator.providers import error_bodies
from evaluator.providers.bodies import EMPTY, count, items, mapping, reported, short, text, tool_use, usage_of
from evaluator.providers.interface import Finish, Message, ModelReply
from evaluator.providers.sdk_client import PLACEHOLDER, SdkClient
from submissions.endpoints.addresses import AddressError, canonical, origin

if TYPE_CHECKING:
    import httpx2

    from evaluator.providers.interface import ModelRequest, TokenUsage, ToolUse

OPENAI_HOST: Final = "api.openai.com"
AZURE_HOSTS: Final = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
OLDER_LIMIT: Final = "max_tokens"
NEWER_LIMIT: Final = "max_completion_tokens"


class _OpenAIClient(SdkClient):
    """Code shared by both interfaces."""

    def _secret(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _make_sdk(self, http: httpx2.Client) -> Any:
        import openai

        return openai.OpenAI(
            api_key=PLACEHOLDER,
            base_url=canonical(self.settings.base_url),
            max_retries=0,
            timeout=self.settings.request_seconds,
            http_client=http,
        )

    def _strict(self) -> dict[str, Any]:
        return {} if self.settings.omit_strict else {"strict": True}

    def _sampling(self) -> dict[str, Any]:
        given = {"temperature": self.settings.temperature, "top_p": self.settings.top_p}
        return {name: value for name, value in given.items() if value is not None}


class ChatClient(_OpenAIClient):
    """``POST /chat/completions``."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request's body; the output limit has the name that the endpoint expects."""
        system = [{"role": "system", "content": request.system}] if request.system else []
        limit = self.settings.output_limit or usual_limit(self.settings.base_url)
        body: dict[str, Any] = {
            "model": self.settings.model,
            "messages": [*system, *(_chat_message(message) for message in request.messages)],
            limit: self.settings.max_output_tokens,
            **self._sampling(),
        }
        if self.settings.effort:
            body["reasoning_effort"] = self.settings.effort
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters),
                        **self._strict(),
                    },
                }
                for tool in request.tools
            ]
        if request.schema is not None:
            form = {"name": request.schema_name, **self._strict(), "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def _call(self, sdk: Any, body: dict[str, Any]) -> Any:
        return sdk.chat.completions.with_raw_response.create(**body)

    def _error(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the body's error, else that of a choice, where OpenRouter reports errors midway."""
        found = error_bodies.error_of(raw)
        return error_bodies.error_of_choices(raw.get("choices")) if found is None else found

    def _reply(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a completion as a reply.

        One choice was requested. If a server splits text and tool calls into several, all their calls are one turn.
        """
        choices = items(raw.get("choices"), "choices")
        choice = choices[0] if choices else mapping(None, "choices")
        message = mapping(choice.get("message"), "a message")
        uses = _tool_calls(message)
        for other in () if uses else choices[1:]:
            uses += _tool_calls(mapping(other.get("message"), "a message"))
        refusal, finish = text(message.get("refusal")), choice.get("finish_reason")
        reply_text = _content(message.get("content")) or refusal
        return ModelReply(
            text=reply_text,
            tool_uses=tuple(uses),
            finish=_finish(
                truncated=finish == "length", refused=bool(refusal) or finish == "content_filter", tools=bool(uses)
            ),
            usage=self._usage(raw),
            model=short(raw.get("model")),
            request_id="",
            raw=raw,
            message=Message("assistant", reply_text, tuple(uses)),
        )

    def _usage(self, raw: Mapping[str, Any]) -> TokenUsage:
        return _usage(raw, "prompt_tokens", "completion_tokens")


class ResponsesClient(_OpenAIClient):
    """``POST /responses``, with nothing stored at the provider."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request's body. Reasoning is sent encrypted both ways, since the provider stores nothing."""
        body: dict[str, Any] = {
            "model": self.settings.model,
            "input": [item for message in request.messages for item in _response_items(message)],
            "max_output_tokens": self.settings.max_output_tokens,
            "store": False,
            **self._sampling(),
        }
        if request.system:
            body["instructions"] = request.system
        if self.settings.effort:
            # Models that do not reason refuse both.
            body["reasoning"] = {"effort": self.settings.effort}
            body["include"] = ["reasoning.encrypted_content"]
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                    **self._strict(),
                }
                for tool in request.tools
            ]
        if request.schema is not None:
            named = {"type": "json_schema", "name": request.schema_name}
            body["text"] = {"format": {**named, **self._strict(), "schema": dict(request.schema)}}
        return body

    def _call(self, sdk: Any, body: dict[str, Any]) -> Any:
        return sdk.responses.with_raw_response.create(**body)

    def _error(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return a response's error; a failed or cancelled one always has one, perhaps unnamed."""
        found = error_bodies.error_of(raw)
        return {} if found is None and raw.get("status") in ("failed", "cancelled") else found

    def _reply(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a response as a reply."""
        output = items(raw.get("output"), "output")
        reply_text, refused, uses = "", False, []
        for item in output:
            if item.get("type") == "message":
                for part in items(item.get("content") or [], "content"):
                    reply_text += text(part.get("text")) or text(part.get("refusal"))
                    refused = refused or part.get("type") == "refusal"
            elif item.get("type") == "function_call":
                uses.append(
                    tool_use(use_id=item.get("call_id"), name=item.get("name"), arguments=item.get("arguments"))
                )
        details = raw.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        return ModelReply(
            text=reply_text,
            tool_uses=tuple(uses),
            finish=_finish(
                truncated=raw.get("status") == "incomplete" and reason != "content_filter",
                refused=refused or reason == "content_filter",
                tools=bool(uses),
            ),
            usage=self._usage(raw),
            model=short(raw.get("model")),
            request_id="",
            raw=raw,
            message=Message("assistant", reply_text, tuple(uses), opaque=tuple(output)),
        )

    def _usage(self, raw: Mapping[str, Any]) -> TokenUsage:
        return _usage(raw, "input_tokens", "output_tokens")


def usual_limit(base_url: str) -> str:
    """Return the output limit's name at this address: newer for OpenAI and Azure, older for all others.

    Mistral refuses the newer one, and Ollama ignores it.
    """
    try:
        host = origin(base_url).host
    except AddressError:
        return OLDER_LIMIT
    return NEWER_LIMIT if host == OPENAI_HOST or host.endswith(AZURE_HOSTS) else OLDER_LIMIT


def _content(content: Any) -> str:
    """Return a message's text: a string, or the text parts of a list, without reasoning."""
    if not isinstance(content, list):
        return text(content)
    parts = (part if isinstance(part, Mapping) else {"type": "text", "text": part} for part in content)
    return "".join(text(part.get("text")) for part in parts if part.get("type") in ("text", "output_text"))


def _tool_calls(message: Mapping[str, Any]) -> list[ToolUse]:
    uses = []
    for call in items(message.get("tool_calls") or [], "tool calls"):
        function = mapping(call.get("function"), "a tool call's function")
        uses.append(tool_use(use_id=call.get("id"), name=function.get("name"), arguments=function.get("arguments")))
    return uses


def _finish(*, truncated: bool, refused: bool, tools: bool) -> Finish:
    if refused:
        return Finish.REFUSED
    if truncated:
        return Finish.TRUNCATED
    return Finish.TOOLS if tools else Finish.STOPPED


def _usage(raw: Mapping[str, Any], read: str, written: str) -> TokenUsage:
    usage = reported(raw)
    details = usage.get(f"{read}_details")
    cached = count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    return usage_of(read=count(usage.get(read)), written=count(usage.get(written)), cached=cached)


def _arguments(use: ToolUse) -> str:
    """Return the arguments as the model wrote them; invalid JSON is replaced, since some servers parse it."""
    return json.dumps(dict(use.arguments)) if use.wrong or not use.raw else use.raw


def _chat_message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_use_id, "content": message.text}
    if not message.tool_uses:
        # Mistral refuses an assistant's turn without text and calls, and Anthropic's proxies any empty one.
        return {"role": message.role, "content": message.text or EMPTY}
    calls = [
        {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": _arguments(use)}}
        for use in message.tool_uses
    ]
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def _response_items(message: Message) -> list[Mapping[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_use_id, "output": message.text}]
    if message.opaque:
        # Without its encrypted content, reasoning refers to something that was not stored.
        return [item for item in message.opaque if item.get("type") != "reasoning" or item.get("encrypted_content")]
    texts = [{"role": message.role, "content": message.text}] if message.text or not message.tool_uses else []
    calls = [
        {"type": "function_call", "call_id": use.id, "name": use.name, "arguments": _arguments(use)}
        for use in message.tool_uses
    ]
    return [*texts, *calls]
