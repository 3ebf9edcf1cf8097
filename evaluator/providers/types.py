"""What is said to a model and what it says back, whoever provides it. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, Self

BUSY_STATUSES: Final = frozenset({429, 503, 529})
"""The HTTP statuses with which a provider may ask to wait."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where and how a model is asked: an endpoint or a judge, without its key.

    ``provider`` is ``openai`` or ``anthropic``, ``api`` ``chat``, ``responses`` or ``messages``; ``request_seconds`` is
    the deadline of one request, everything included. What is ``None`` or empty is left to the provider.
    ``output_limit`` names the parameter of Chat Completions that limits the answer; empty chooses it by the host.
    ``omit_strict`` leaves ``strict`` out of tools and schemas.
    """

    provider: str
    api: str
    base_url: str
    model: str
    temperature: float | None = None
    top_p: float | None = None
    effort: str = ""
    max_output_tokens: int = 8192
    context_tokens: int = 128_000
    request_seconds: float = 300.0
    output_limit: str = ""
    omit_strict: bool = False

    def as_data(self) -> dict[str, Any]:
        """The same as plain data, for the database and for digests."""
        return asdict(self)

    @classmethod
    def of(cls, row: object) -> Self:
        """The settings of a stored endpoint or judge."""
        values: dict[str, Any] = {name: getattr(row, name) for name in cls.__slots__ if hasattr(row, name)}
        # Choices are texts of their own type.
        values |= {name: str(value) for name, value in values.items() if isinstance(value, str)}
        return cls(**values)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The reverse; names that are not known are left aside."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})


@dataclass(frozen=True, slots=True)
class Tool:
    """Something the model may ask for. ``parameters`` is a JSON schema of an object, strict."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool by the model. ``arguments`` is what it sent, parsed; ``wrong`` why it could not be."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. ``role`` is ``user``, ``assistant`` or ``tool`` (the answer to ``tool_use_id``).

    ``opaque`` is what the provider wants to have back with an assistant's turn as it was (signed reasoning, item ids):
    the raw content of the reply, kept and sent again, never read.
    """

    role: str
    text: str = ""
    tool_uses: tuple[ToolUse, ...] = ()
    tool_use_id: str = ""
    opaque: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question. ``schema`` (name, JSON schema) asks for an answer of exactly that form, strictly."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    schema_name: str = ""
    schema: Mapping[str, Any] | None = None


class Finish(StrEnum):
    """Why the model stopped. ``BAD_CALL``: the provider could not read a tool call that the model wrote."""

    STOPPED = "stopped"
    TOOLS = "tools"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    BAD_CALL = "bad_call"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counts them, ``None`` where it does not. ``cached`` ones are part of ``input_tokens``."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back. ``text`` may be empty; ``raw`` is the provider's body as it was, parsed.

    ``message`` is the same as the next turn of the conversation. ``status`` is HTTP's. ``problem`` says which error
    ended the model's turn; ``text`` then is what the model wrote, where the provider repeats it.
    """

    text: str
    tool_uses: tuple[ToolUse, ...]
    finish: Finish
    usage: TokenUsage
    model: str
    request_id: str
    raw: Mapping[str, Any]
    message: Message
    status: int = 200
    problem: str = ""


class FaultKind(StrEnum):
    """What went wrong on the way, by what is to be done about it.

    ``UNSENT``: nothing reached the provider (refused connection, name unknown): safe to send again. ``LOST``: it may
    have been answered, and the answer did not arrive (broken connection, deadline): in doubt. ``BUSY``: asked to wait.
    ``SERVER``: the provider's own fault, said by it (5xx). ``REJECTED``: it will never take this (wrong key, unknown
    model, bad request, prompt too long). ``HOSTILE``: it answered what no provider answers (too much, not JSON, a
    redirect). ``FORBIDDEN``: the address may not be called from here.
    """

    UNSENT = "unsent"
    LOST = "lost"
    BUSY = "busy"
    SERVER = "server"
    REJECTED = "rejected"
    HOSTILE = "hostile"
    FORBIDDEN = "forbidden"


class ProviderFault(Exception):  # noqa: N818 - the field's term; it is not always an error
    """A request that brought no reply. The message is for the submitter: it never holds the key.

    The provider's own words in it are bounded and without control characters, and foreign text for a page.
    ``lasting`` is the message without what holds at this moment only: how long the provider wants to wait.
    ``error`` is class and status for operators. ``retry_after`` is in seconds where the provider said so, bounded.
    ``too_long`` is true where the provider says that the prompt does not fit the model. ``setting`` names the field of
    :class:`EndpointSettings` whose parameter the provider refuses; it is empty where no setting would help.
    ``names_tools``: whether the provider's words name tools, also where they cannot be quoted.
    ``usage`` is what the model used before it failed, and ``raw`` the body, without the key; ``usage`` is ``None``
    where the body shows no work of the model.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        lasting: str = "",
        error: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str = "",
        too_long: bool = False,
        setting: str = "",
        names_tools: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.lasting = lasting or message
        self.error = error
        self.status = status
        self.retry_after = retry_after
        self.request_id = request_id
        self.too_long = too_long
        self.setting = setting
        self.names_tools = names_tools
        self.usage: TokenUsage | None = None
        self.raw: Mapping[str, Any] = {}


class ModelClient(Protocol):
    """A model that can be asked. Made by ``evaluator.providers.clients.connect``."""

    settings: EndpointSettings

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body that ``send`` would send: what is written down first. Pure."""

    def send(self, body: Mapping[str, Any]) -> ModelReply:
        """Send a body exactly once (no retries of the SDK's own). Raises :class:`ProviderFault`."""

    def read(self, raw: Mapping[str, Any]) -> ModelReply:
        """A stored response (``ModelReply.raw``) as a reply again. Raises :class:`ProviderFault` (``HOSTILE``)."""

    def close(self) -> None:
        """Let go of its connections."""
