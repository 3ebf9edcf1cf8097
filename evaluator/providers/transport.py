"""HTTP transport of both SDKs: one bounded connection per request, to a checked address.

Connections are not kept alive: a model runs for seconds, so a new one costs little, and a request never meets a
connection that the other side has just closed, which would leave it in doubt. The key is added here: the SDKs never
see it.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import httpcore2
import httpx2

from evaluator.providers.faults import broken, forbidden, hostile, late, unreachable
from evaluator.providers.guard import ForbiddenAddressError, Policy, UnknownHostError, resolve
from submissions.endpoints.addresses import DEFAULT_PORTS, Origin

BODY_BYTES: Final = 4 * 2**20
HEAD_BYTES: Final = 64 * 2**10
# A chunk of one byte takes six on the wire.
WIRE_BYTES: Final = 6 * BODY_BYTES
# SDKs also send details of the machine and of their environment variables, which the provider need not know.
SENT_HEADERS: Final = frozenset({"host", "accept", "content-type", "content-length", "user-agent", "anthropic-version"})
_PIECE: Final = 64 * 2**10


class GuardedTransport(httpx2.BaseTransport):
    """Sends requests to one origin. ``secret`` are the headers with the key; ``seconds`` is the limit of one request.

    Every failure is a :class:`ProviderError`, which the SDKs raise again or wrap.
    """

    def __init__(self, *, origin: Origin, policy: Policy, secret: Mapping[str, str], seconds: float) -> None:
        self.origin = origin
        self.policy = policy
        self.seconds = seconds
        self._secret = dict(secret)
        self._tls = httpx2.create_ssl_context(trust_env=True) if origin.scheme == "https" else None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and read the head of its answer; the body is read from the response's stream."""
        deadline = time.monotonic() + self.seconds
        origin, url = self.origin, request.url
        # The raw host: the decoded one differs for internationalised names.
        requested = Origin(url.scheme, url.raw_host.decode(), url.port or DEFAULT_PORTS[origin.scheme])
        if requested != origin:
            raise forbidden("The request is for another server than the registered one.")
        wire = _Wire(_resolved(origin, self.policy, deadline, self.seconds), deadline)
        connection = httpcore2.HTTPConnection(
            origin=httpcore2.Origin(origin.scheme.encode(), origin.host.encode(), origin.port),
            ssl_context=self._tls,
            network_backend=wire,
        )
        with ExitStack() as on_error:
            on_error.callback(connection.close)
            with _as_provider_errors(wire, self.seconds):
                response = connection.handle_request(self._core_request(request))
            _check_head(response)
            on_error.pop_all()
        return httpx2.Response(
            status_code=response.status,
            # Without this header nothing decodes the body, so the counted bytes are the stored bytes.
            headers=[header for header in response.headers if header[0].lower() != b"content-encoding"],
            stream=_Body(response, connection, wire, self.seconds),
        )

    def _core_request(self, request: httpx2.Request) -> httpcore2.Request:
        headers = [(name, value) for name, value in request.headers.raw if name.decode().lower() in SENT_HEADERS]
        own = {**self._secret, "Accept-Encoding": "identity", "Connection": "close"}
        headers += [(name.encode(), value.encode()) for name, value in own.items()]
        url = httpcore2.URL(
            scheme=self.origin.scheme,
            host=self.origin.host,
            port=self.origin.port,
            target=request.url.raw_path,
        )
        # The wire enforces the deadline itself; the SDK's timeouts apply to single reads only.
        return httpcore2.Request(request.method, url, headers=headers, content=request.read())


class _Body(httpx2.SyncByteStream):
    """An answer's body that ends at the size limit."""

    def __init__(
        self, response: httpcore2.Response, connection: httpcore2.HTTPConnection, wire: _Wire, seconds: float
    ) -> None:
        self._response = response
        self._connection = connection
        self._wire = wire
        self._seconds = seconds

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        with _as_provider_errors(self._wire, self._seconds):
            for part in self._response.iter_stream():
                taken += len(part)
                _check_size(taken)
                yield part

    def close(self) -> None:
        self._response.close()
        self._connection.close()


class _Wire(httpcore2.NetworkBackend, httpcore2.NetworkStream):
    """A single connection, opened once, to checked addresses only, and read until the deadline at most.

    The timeouts passed in apply to single reads; the deadline applies here.
    """

    def __init__(self, addresses: tuple[str, ...], deadline: float) -> None:
        self.addresses = addresses
        self.deadline = deadline
        self.head = b""
        self.head_is_read = False
        self.taken = 0
        self.has_ended = False
        self.was_sent = False
        self._stream = httpcore2.NetworkStream()

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - only a name at this point: it is not looked up again
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """Try the checked addresses in order."""
        problem: Exception = httpcore2.ConnectError()
        for address in self.addresses:
            try:
                self._stream = httpcore2.SyncBackend().connect_tcp(address, port, self._left(httpcore2.ConnectTimeout))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
            else:
                return self
        raise problem

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        self._stream = self._stream.start_tls(ssl_context, server_hostname, self._left(httpcore2.ConnectTimeout))
        return self

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        data = self._stream.read(max_bytes, self._left(httpcore2.ReadTimeout))
        self.has_ended = not data
        self.taken += len(data)
        if not self.head_is_read:
            self.head += data
            self.head_is_read = b"\r\n\r\n" in self.head
            if not self.head_is_read and len(self.head) > HEAD_BYTES:
                raise hostile("headers without end")
        if self.taken > WIRE_BYTES:
            raise hostile("more than 4 MB")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        # In pieces, each limited by the rest of the deadline.
        for start in range(0, len(buffer), _PIECE):
            left = self._left(httpcore2.WriteTimeout)
            self.was_sent = True
            self._stream.write(buffer[start : start + _PIECE], left)

    def close(self) -> None:
        if type(self._stream) is not httpcore2.NetworkStream:
            self._stream.close()

    def _left(self, late_error: type[Exception]) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise late_error
        return left


def _check_size(taken: int) -> None:
    if taken > BODY_BYTES:
        raise hostile("more than 4 MB")


def _check_head(response: httpcore2.Response) -> None:
    if 300 <= response.status < 400:
        raise hostile("a redirect to another address")
    for name, value in response.headers:
        # A header may occur several times, and each may hold a list.
        if name.lower() == b"content-encoding" and value.strip().lower() not in {b"", b"identity"}:
            raise hostile("a compressed body, although plain text was requested")
        if name.lower() == b"content-length" and value.isdigit():
            _check_size(int(value[:20]))


def _resolved(origin: Origin, policy: Policy, deadline: float, seconds: float) -> tuple[str, ...]:
    """Return the host's addresses. A resolver has no deadline, so the wait for it is limited here."""
    found: Future[tuple[str, ...]] = Future()

    def look_up() -> None:
        try:
            found.set_result(resolve(origin, policy))
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            found.set_exception(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        return found.result(timeout=max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        raise unreachable(f"The host's name could not be looked up within {seconds:g} seconds.") from None
    except UnknownHostError as error:
        raise unreachable(str(error)) from None
    except ForbiddenAddressError as error:
        raise forbidden(f"Nothing was sent. {error}") from None


@contextmanager
def _as_provider_errors(wire: _Wire, seconds: float) -> Iterator[None]:
    """Turn the connection's errors into :class:`ProviderError`, by their meaning for the request."""
    try:
        yield
    except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
        name = type(error).__name__
        if not wire.was_sent:
            raise unreachable(_why_unreachable(error), error=name) from None
        if isinstance(error, httpcore2.TimeoutException):
            raise late(seconds, error=name) from None
        raise broken(error=name) from None
    except httpcore2.ProtocolError as error:
        name = type(error).__name__
        if isinstance(error, httpcore2.RemoteProtocolError) and not wire.has_ended:
            raise hostile("invalid HTTP", error=name) from None
        raise broken(error=name) from None


def _why_unreachable(error: BaseException) -> str:
    if isinstance(error.__cause__, ssl.SSLError):
        return "The server's certificate could not be verified, or it does not speak TLS."
    if isinstance(error, httpcore2.TimeoutException):
        return "The server could not be connected to in time."
    return "The server refused the connection. Is it running, and is the port right?"
