"""Client for Anthropic's Messages interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from evaluator.providers import error_bodies
from evaluator.providers.bodies import EMPTY, count, items, reported, short, text, tool_use, usage_of
from evaluator.providers.interface import Finish, Message, ModelReply
from evaluator.providers.sdk_client import PLACEHOLDER, SdkClient
from submissions.endpoints.addresses import canonical

if TYPE_CHECKING:
    import httpx2

    from evaluator.providers.interface import ModelRequest, TokenUsage

FINISHES: Final = {
    "end_turn": Finish.STOPPED,
    "stop_sequence": Finish.STOPPED,
    "pause_turn": Finish.STOPPED,
    "tool_use": Finish.TOOLS,
    "max_tokens": Finish.TRUNCATED,
    "model_context_window_exceeded": Finish.TRUNCATED,
    "refusal": Finish.REFUSED,
}
# Strict schemas have no bounds here; like the SDK, this client moves them into descriptions.
BOUNDS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}
    | {"minItems", "maxItems", "uniqueItems", "pattern"}
)


class MessagesClient(SdkClient):
    """``POST /v1/messages``. Sampling parameters are not sent: current models accept none."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request's body."""
        body: dict[str, Any] = {
            "model": self.settings.model,
            "max_tokens": self.settings.max_output_tokens,
            "messages": _turns(request.messages),
        }
        if request.system:
            body["system"] = request.system
        output: dict[str, Any] = {"effort": self.settings.effort} if self.settings.effort else {}
        if request.schema is not None:
            output["format"] = {"type": "json_schema", "schema": unbounded(request.schema)}
        if output:
            body["output_config"] = output
        if request.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": unbounded(tool.parameters),
                    **({} if self.settings.omit_strict else {"strict": True}),
                }
                for tool in request.tools
            ]
        return body

    def _secret(self) -> dict[str, str]:
        return {"x-api-key": self._key} if self._key else {}

    def _make_sdk(self, http: httpx2.Client) -> Any:
        import anthropic

        return anthropic.Anthropic(
            api_key=PLACEHOLDER,
            # The SDK adds /v1 itself; users register the address with it, as for the other interfaces.
            base_url=canonical(self.settings.base_url).rstrip("/").removesuffix("/v1"),
            max_retries=0,
            timeout=self.settings.request_seconds,
            http_client=http,
            open_telemetry=False,
        )

    def _call(self, sdk: Any, body: dict[str, Any]) -> Any:
        return sdk.messages.with_raw_response.create(**body)

    def _error(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the error of a body; proxies also end a message with the reason ``error``."""
        found = error_bodies.error_of(raw)
        return {} if found is None and raw.get("stop_reason") == "error" else found

    def _reply(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a message as a reply. Some proxies omit a text block's type, but require it in later requests."""
        content = [{"type": "text", **block} for block in items(raw.get("content"), "content")]
        reply_text = "".join(text(block.get("text")) for block in content if block["type"] == "text")
        uses = tuple(
            tool_use(use_id=block.get("id"), name=block.get("name"), arguments=block.get("input"))
            for block in content
            if block.get("type") == "tool_use"
        )
        return ModelReply(
            text=reply_text,
            tool_uses=uses,
            finish=FINISHES.get(text(raw.get("stop_reason")), Finish.TOOLS if uses else Finish.STOPPED),
            usage=self._usage(raw),
            model=short(raw.get("model")),
            request_id="",
            raw=raw,
            message=Message("assistant", reply_text, uses, opaque=tuple(content)),
        )

    def _usage(self, raw: Mapping[str, Any]) -> TokenUsage:
        """Return the usage. Anthropic's ``input_tokens`` exclude those read from or written to the cache."""
        usage = reported(raw)
        fresh, cached = count(usage.get("input_tokens")), count(usage.get("cache_read_input_tokens")) or 0
        created = count(usage.get("cache_creation_input_tokens")) or 0
        read = None if fresh is None else fresh + cached + created
        return usage_of(read=read, written=count(usage.get("output_tokens")), cached=cached)


def unbounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema without bounds; the description states them instead."""
    bounds = [f"{name}: {value}" for name, value in schema.items() if name in BOUNDS]
    plain = {name: _within(name, value) for name, value in schema.items() if name not in BOUNDS}
    if bounds:
        plain["description"] = " ".join([*filter(None, [plain.get("description")]), f"({', '.join(bounds)})"])
    return plain


def _within(name: str, value: Any) -> Any:
    if name == "properties":
        return {inner: unbounded(schema) for inner, schema in value.items()}
    return unbounded(value) if name == "items" else value


def _turns(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return the conversation as turns of user and assistant; tool results belong to the user and come first."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += _blocks(message)
        else:
            turns.append({"role": role, "content": _blocks(message)})
    return turns


def _blocks(message: Message) -> list[Mapping[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_use_id, "content": message.text}]
    # Empty texts are refused, even those that the provider sent itself.
    kept = [block for block in message.opaque if block.get("type") != "text" or block.get("text")]
    if kept:
        return kept
    texts = [{"type": "text", "text": message.text or EMPTY}] if message.text or not message.tool_uses else []
    calls = [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.arguments)} for use in message.tool_uses
    ]
    return [*texts, *calls]
