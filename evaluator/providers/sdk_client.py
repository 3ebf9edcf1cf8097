"""What both SDKs' clients share: sending a body exactly once, and turning what comes back into a reply or a fault.

The SDKs are imported when something is sent: they take up to a second and 76 MB, which no web process should pay.
"""

from __future__ import annotations

import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from evaluator.providers import error_bodies, faults
from evaluator.providers.bodies import parsed
from evaluator.providers.types import FaultKind, Finish, Message, ModelReply, ProviderFault
from submissions.endpoints.addresses import AddressError, origin

if TYPE_CHECKING:
    import httpx2

    from evaluator.providers.guard import Policy
    from evaluator.providers.types import EndpointSettings, ModelRequest, TokenUsage

# The SDKs refuse to work without a key. The real one is put on by the transport, so that they never see it.
PLACEHOLDER: Final = "put-on-later"
# At DEBUG these write addresses, headers and exceptions, and httpx2 at INFO the server's own reason phrase: words of a
# stranger, who may repeat the key. A filter holds where a level could be lowered again by the site's configuration.
LOGGERS: Final = (
    *("anthropic", "anthropic._base_client", "anthropic._legacy_response", "anthropic._response"),
    *("openai", "openai._base_client", "openai._legacy_response", "openai._response"),
    *("httpcore2.connection", "httpcore2.http11", "httpcore2.proxy", "httpx2"),
)

_PROBLEMS: Final = {
    Finish.BAD_CALL: "The provider could not read the tool call",
    Finish.STOPPED: "The answer does not have the form that was asked for",
    Finish.REFUSED: "A content filter of the provider stopped the prompt or the answer",
}


class SdkClient(ABC):
    """A :class:`evaluator.providers.types.ModelClient` over one of the SDKs."""

    def __init__(self, settings: EndpointSettings, *, key: str, policy: Policy) -> None:
        self.settings = settings
        self._key = key
        self._policy = policy
        self._sdk: Any = None
        self._http: httpx2.Client | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings.api}, {self.settings.base_url}, {self.settings.model})"

    @abstractmethod
    def body(self, request: ModelRequest) -> dict[str, Any]:
        """The body that ``send`` would send. Pure."""

    @abstractmethod
    def _reply(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a response that reports no error as a reply. Raises :class:`ProviderFault`."""

    @abstractmethod
    def _usage(self, raw: Mapping[str, Any]) -> TokenUsage:
        """Return the tokens that a body reports."""

    def _error(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the error that a body reports, whatever its status; None for a reply of the model."""
        return error_bodies.error_of(raw)

    @abstractmethod
    def _secret(self) -> dict[str, str]:
        """The headers that carry the key."""

    @abstractmethod
    def _make_sdk(self, http: httpx2.Client) -> Any:
        """The SDK's client, with ``PLACEHOLDER`` as its key and no retries of its own."""

    @abstractmethod
    def _call(self, sdk: Any, body: dict[str, Any]) -> Any:
        """Send through the SDK, and give back its raw response (``with_raw_response``)."""

    def send(self, body: Mapping[str, Any]) -> ModelReply:
        """Send a body exactly once. Raises :class:`ProviderFault`."""
        fault: ProviderFault | None = None
        try:
            response = self._call(self._connected(), dict(body)).http_response
        except Exception as error:  # noqa: BLE001 - each one becomes a fault; those that nobody knows are in doubt
            response = getattr(error, "response", None)
            fault = faults.behind(error) if response is None else None
        if fault is not None:
            # Raised outside of the handler and bare: what the SDK raised holds the server's words.
            fault.__cause__ = fault.__context__ = None
            raise fault.with_traceback(None)
        return self._received(response, has_tools=bool(body.get("tools")))

    def read(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a stored response as a reply. Raises :class:`ProviderFault`, also for an error that it reports."""
        error = self._error(raw)
        if error is None:
            return self._reply(raw)
        failed = error_bodies.model_error(error)
        if failed is None:
            raise faults.of_error(200, error, headers={}, key=self._key, succeeded=True)
        return self._failed_turn(raw, failed)

    def _received(self, response: httpx2.Response, *, has_tools: bool) -> ModelReply:
        """Return what came back as a reply. Raises :class:`ProviderFault` for an error, whatever the status is.

        An error of the model itself is its turn; a tool call that the provider could not read is one where tools were
        offered. It is kept as it came, so it may not hold the key.
        """
        raw = self._body(response)
        try:
            reply = self._turn(response, raw, has_tools=has_tools)
        except ProviderFault as fault:
            self._note_usage(fault, raw)
            raise
        number = faults.request_id(response.headers, key=self._key)
        return replace(reply, request_id=number, status=response.status_code)

    def _turn(self, response: httpx2.Response, raw: Mapping[str, Any], *, has_tools: bool) -> ModelReply:
        error, succeeded = self._error(raw), response.is_success
        failed = None if error is None else error_bodies.model_error(error)
        if failed is not None and failed.finish is Finish.BAD_CALL and not has_tools:
            failed = None
        if error is None and succeeded:
            return self._reply(raw)
        if failed is not None and not self._quotes_key(raw):
            return self._failed_turn(raw, failed)
        headers, reported = response.headers, raw if error is None else error
        raise faults.of_error(response.status_code, reported, headers=headers, key=self._key, succeeded=succeeded)

    def _note_usage(self, fault: ProviderFault, raw: Mapping[str, Any]) -> None:
        """Note on a fault what the model used: a body with usage or output shows that it was at work, and is paid."""
        if isinstance(raw.get("usage"), Mapping) or any(raw.get(name) for name in ("choices", "output", "content")):
            fault.usage = self._usage(raw)
            fault.raw = {} if self._quotes_key(raw) else raw

    def _quotes_key(self, raw: Mapping[str, Any]) -> bool:
        return faults.quotes(json.dumps(raw, ensure_ascii=False), self._key)

    def _failed_turn(self, raw: Mapping[str, Any], failed: error_bodies.ModelError) -> ModelReply:
        words, problem = faults.quotable(failed.said, self._key), _PROBLEMS[failed.finish]
        return ModelReply(
            text=failed.written,
            tool_uses=(),
            finish=failed.finish,
            usage=self._usage(raw),
            model="",
            request_id="",
            raw=raw,
            message=Message("assistant", failed.written),
            problem=f"{problem}: “{words}”." if words else f"{problem}.",
        )

    @staticmethod
    def _body(response: httpx2.Response) -> dict[str, Any]:
        """The body; empty where an error has none that can be read. Raises :class:`ProviderFault`."""
        try:
            return parsed(response.content)
        except ProviderFault:
            if response.is_success:
                raise
            return {}

    def close(self) -> None:
        """Let go of its connections."""
        if self._http is not None:
            self._http.close()

    def _connected(self) -> Any:
        if self._sdk is None:
            self._sdk = self._make_sdk(self._guarded())
        return self._sdk

    def _guarded(self) -> httpx2.Client:
        import httpx2

        from evaluator.providers.transport import GuardedTransport

        for name in LOGGERS:
            # Adding the same function twice adds it once.
            logging.getLogger(name).addFilter(_is_warning)
        try:
            target = origin(self.settings.base_url)
        except AddressError as error:
            raise faults.forbidden(str(error)) from None
        if self._key and not re.fullmatch(r"[!-~]+", self._key):
            message = "The key holds characters that no key has, such as spaces. Enter it again."
            raise ProviderFault(FaultKind.REJECTED, message, error="malformed key")
        seconds = self.settings.request_seconds
        transport = GuardedTransport(origin=target, policy=self._policy, secret=self._secret(), seconds=seconds)
        self._http = httpx2.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=seconds)
        return self._http


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING
