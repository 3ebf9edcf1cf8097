"""Base of both SDKs' clients: send a body exactly once, and turn the response into a reply or an error.

The SDKs are imported when something is sent: they take up to a second and 76 MB, too much for web processes.
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
from evaluator.providers.interface import FailureKind, Finish, Message, ModelReply, ProviderError
from submissions.endpoints.addresses import AddressError, origin

if TYPE_CHECKING:
    import httpx2

    from evaluator.providers.guard import Policy
    from evaluator.providers.interface import EndpointSettings, ModelRequest, TokenUsage

# The SDKs require a key. The transport adds the real one, so that they never see it.
PLACEHOLDER: Final = "put-on-later"
# At DEBUG these log addresses, headers and exceptions, and httpx2 at INFO the server's reason phrase: untrusted text
# that may repeat the key. A filter also holds if the site's configuration lowers a level again.
LOGGERS: Final = (
    *("anthropic", "anthropic._base_client", "anthropic._legacy_response", "anthropic._response"),
    *("openai", "openai._base_client", "openai._legacy_response", "openai._response"),
    *("httpcore2.connection", "httpcore2.http11", "httpcore2.proxy", "httpx2"),
)

_PROBLEMS: Final = {
    Finish.BAD_CALL: "The provider could not read the tool call",
    Finish.STOPPED: "The answer does not have the requested form",
    Finish.REFUSED: "A content filter of the provider stopped the prompt or the answer",
}


class SdkClient(ABC):
    """A :class:`evaluator.providers.interface.ModelClient` over one of the SDKs."""

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
        """Return the body that ``send`` would send. Pure."""

    @abstractmethod
    def _reply(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a response without an error as a reply. Raises :class:`ProviderError`."""

    @abstractmethod
    def _usage(self, raw: Mapping[str, Any]) -> TokenUsage:
        """Return the tokens that a body reports."""

    def _error(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the error that a body reports, regardless of its status; None for a reply of the model."""
        return error_bodies.error_of(raw)

    @abstractmethod
    def _secret(self) -> dict[str, str]:
        """Return the headers that carry the key."""

    @abstractmethod
    def _make_sdk(self, http: httpx2.Client) -> Any:
        """Return the SDK's client, with ``PLACEHOLDER`` as its key and no retries of its own."""

    @abstractmethod
    def _call(self, sdk: Any, body: dict[str, Any]) -> Any:
        """Send through the SDK, and return its raw response (``with_raw_response``)."""

    def send(self, body: Mapping[str, Any]) -> ModelReply:
        """Send a body exactly once. Raises :class:`ProviderError`."""
        failure: ProviderError | None = None
        try:
            response = self._call(self._connected(), dict(body)).http_response
        except Exception as error:  # noqa: BLE001 - each becomes a ProviderError; unknown ones are in doubt
            response = getattr(error, "response", None)
            failure = faults.wrapped_error(error) if response is None else None
        if failure is not None:
            # Raised outside the handler and without context: the SDK's exception holds the server's words.
            failure.__cause__ = failure.__context__ = None
            raise failure.with_traceback(None)
        return self._received(response, has_tools=bool(body.get("tools")))

    def read(self, raw: Mapping[str, Any]) -> ModelReply:
        """Return a stored response as a reply. Raises :class:`ProviderError`, also for an error that it reports."""
        error = self._error(raw)
        if error is None:
            return self._reply(raw)
        failed = error_bodies.model_error(error)
        if failed is None:
            raise faults.of_error(200, error, headers={}, key=self._key, succeeded=True)
        return self._failed_turn(raw, failed)

    def _received(self, response: httpx2.Response, *, has_tools: bool) -> ModelReply:
        """Return a response as a reply. Raises :class:`ProviderError` for an error, regardless of its status.

        An error of the model itself is its turn, including an unreadable tool call if tools were offered. Such a body
        is stored unchanged, so it must not hold the key.
        """
        raw = self._body(response)
        try:
            reply = self._turn(response, raw, has_tools=has_tools)
        except ProviderError as failure:
            self._note_usage(failure, raw)
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

    def _note_usage(self, failure: ProviderError, raw: Mapping[str, Any]) -> None:
        """Store what the model used on the error: usage or output in the body shows that it ran and is paid for."""
        if isinstance(raw.get("usage"), Mapping) or any(raw.get(name) for name in ("choices", "output", "content")):
            failure.usage = self._usage(raw)
            failure.raw = {} if self._quotes_key(raw) else raw

    def _quotes_key(self, raw: Mapping[str, Any]) -> bool:
        return faults.quotes(json.dumps(raw, ensure_ascii=False), self._key)

    def _failed_turn(self, raw: Mapping[str, Any], failed: error_bodies.ModelError) -> ModelReply:
        words, problem = faults.quotable(failed.message, self._key), _PROBLEMS[failed.finish]
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
        """Return the body; empty for an error without a readable one. Raises :class:`ProviderError`."""
        try:
            return parsed(response.content)
        except ProviderError:
            if response.is_success:
                raise
            return {}

    def close(self) -> None:
        """Close its connections."""
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
            # Adding the same function again has no effect.
            logging.getLogger(name).addFilter(_is_warning)
        try:
            target = origin(self.settings.base_url)
        except AddressError as error:
            raise faults.forbidden(str(error)) from None
        if self._key and not re.fullmatch(r"[!-~]+", self._key):
            message = "The key holds characters that no key has, such as spaces. Enter it again."
            raise ProviderError(FailureKind.REJECTED, message, error="malformed key")
        seconds = self.settings.request_seconds
        transport = GuardedTransport(origin=target, policy=self._policy, secret=self._secret(), seconds=seconds)
        self._http = httpx2.Client(transport=transport, trust_env=False, follow_redirects=False, timeout=seconds)
        return self._http


def _is_warning(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING
