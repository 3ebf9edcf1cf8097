"""Requests to models and their replies, independent of the provider. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, Self

BUSY_STATUSES: Final = frozenset({429, 503, 529})
"""HTTP statuses with which a provider may ask to wait."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Connection settings of an endpoint or a judge, without the key.

    ``provider`` is ``openai`` or ``anthropic``, ``api`` ``chat``, ``responses`` or ``messages``; ``request_seconds`` is
    the deadline of one whole request. ``None`` or empty leaves a setting to the provider. ``output_limit`` names the
    Chat Completions parameter that limits the answer; empty chooses it by the host. ``omit_strict`` leaves ``strict``
    out of tools and schemas.
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
        """Return plain data, for the database and for digests."""
        return asdict(self)

    @classmethod
    def of(cls, row: object) -> Self:
        """Return the settings of a stored endpoint or judge."""
        values: dict[str, Any] = {name: getattr(row, name) for name in cls.__slots__ if hasattr(row, name)}
        # Choices are strings of their own type.
        values |= {name: str(value) for name, value in values.items() if isinstance(value, str)}
        return cls(**values)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Reverse :meth:`as_data`; unknown names are ignored."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. ``parameters`` is a strict JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call by the model. ``arguments`` is parsed; ``wrong`` explains why it could not be."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. ``role`` is ``user``, ``assistant`` or ``tool`` (the answer to ``tool_use_id``).

    ``opaque`` is the part of an assistant's turn that the provider requires back unchanged (signed reasoning, item
    ids): the reply's raw content, stored and sent again, never read.
    """

    role: str
    text: str = ""
    tool_uses: tuple[ToolUse, ...] = ()
    tool_use_id: str = ""
    opaque: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. ``schema`` (name, JSON schema) requires an answer of exactly that form."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    schema_name: str = ""
    schema: Mapping[str, Any] | None = None


class Finish(StrEnum):
    """Why the model stopped. ``BAD_CALL``: the provider could not read the model's tool call."""

    STOPPED = "stopped"
    TOOLS = "tools"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    BAD_CALL = "bad_call"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as counted by the provider, ``None`` if it reports none. ``input_tokens`` include ``cached`` ones."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply. ``text`` may be empty; ``raw`` is the provider's parsed body, unchanged.

    ``message`` is the reply as the next turn of the conversation. ``status`` is the HTTP status. ``problem`` describes
    the error that ended the model's turn; ``text`` is then the model's output, if the provider repeats it.
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


class FailureKind(StrEnum):
    """Kind of a failed request, by what to do about it.

    ``UNSENT``: it did not reach the provider (refused connection, unknown name); safe to send again. ``LOST``: it may
    have been answered, but the answer did not arrive (broken connection, deadline); in doubt. ``BUSY``: the provider
    asked to wait. ``SERVER``: the provider reports its own error (5xx). ``REJECTED``: the provider will never accept it
    (wrong key, unknown model, bad request, prompt too long). ``HOSTILE``: no provider gives such an answer (too
    much, not JSON, a redirect). ``FORBIDDEN``: the address may not be called from this site.
    """

    UNSENT = "unsent"
    LOST = "lost"
    BUSY = "busy"
    SERVER = "server"
    REJECTED = "rejected"
    HOSTILE = "hostile"
    FORBIDDEN = "forbidden"


class ProviderError(Exception):
    """A request got no reply. The message is for the submitter and never holds the key.

    The provider's words in it are short, without control characters, and untrusted text for a page. ``lasting`` is the
    message without its temporary part: how long the provider wants to wait. ``error`` is class and status for
    operators. ``retry_after`` is in seconds, bounded, if the provider gave it. ``too_long``: the provider reports that
    the prompt does not fit the model. ``setting`` names the field of :class:`EndpointSettings` whose parameter the
    provider refuses; empty if no setting would help. ``names_tools``: the provider's words name tools, even if they
    cannot be quoted. ``usage`` is what the model used before it failed, and ``raw`` the body without the key; ``usage``
    is ``None`` if the body shows no work of the model.
    """

    def __init__(
        self,
        kind: FailureKind,
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
    """A model client. Made by ``evaluator.providers.clients.connect``."""

    settings: EndpointSettings

    def body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the body that ``send`` would send, to be stored first. Pure."""

    def send(self, body: Mapping[str, Any]) -> ModelReply:
        """Send a body exactly once (without the SDK's retries). Raises :class:`ProviderError`."""

    def read(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a stored response (``ModelReply.raw``) as a reply. Raises :class:`ProviderError` (``HOSTILE``)."""

    def close(self) -> None:
        """Close its connections."""
