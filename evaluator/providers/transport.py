"""The way out for both SDKs: one connection for each request, to an address that was checked, with everything bounded.

No keep-alive: a model thinks for seconds, so a new connection costs little, and a request never meets a connection that
the other side has just closed, which would leave it in doubt. The key is put on here: the SDKs never see it.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import httpcore2
import httpx2

from evaluator.providers.faults import broken, forbidden, hostile, late, unreachable
from evaluator.providers.guard import ForbiddenAddressError, Policy, UnknownHostError, resolve
from evaluator.providers.types import ProviderFault
from submissions.endpoints.addresses import DEFAULT_PORTS, Origin

BODY_BYTES: Final = 4 * 2**20
HEAD_BYTES: Final = 64 * 2**10
# Chunks of a byte take six on the wire.
WIRE_BYTES: Final = 6 * BODY_BYTES
# SDKs add the machine's particulars, and what their environment variables say; none of that is the provider's business.
SENT_HEADERS: Final = frozenset({"host", "accept", "content-type", "content-length", "user-agent", "anthropic-version"})


class GuardedTransport(httpx2.BaseTransport):
    """Sends requests to one origin. ``secret`` are the headers that carry the key; ``seconds`` bound one request.

    Every failure is a :class:`ProviderFault`, which the SDKs pass on or wrap.
    """

    def __init__(self, *, origin: Origin, policy: Policy, secret: Mapping[str, str], seconds: float) -> None:
        self.origin = origin
        self.policy = policy
        self.seconds = seconds
        self._secret = dict(secret)
        self._tls = httpx2.create_ssl_context(trust_env=True) if origin.scheme == "https" else None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and take the head of its answer; the body is read from the response's stream."""
        deadline = time.monotonic() + self.seconds
        origin, url = self.origin, request.url
        # The raw host: the other one is decoded where a name is internationalised.
        asked = Origin(url.scheme, url.raw_host.decode(), url.port or DEFAULT_PORTS[origin.scheme])
        if asked != origin:
            raise forbidden("The request is for another server than the registered one.")
        wire = _Wire(_resolved(origin, self.policy, deadline, self.seconds), deadline)
        connection = httpcore2.HTTPConnection(
            origin=httpcore2.Origin(origin.scheme.encode(), origin.host.encode(), origin.port),
            ssl_context=self._tls,
            network_backend=wire,
        )
        try:
            response = connection.handle_request(self._core_request(request))
            _check_head(response)
        except BaseException as error:
            connection.close()
            _raise_fault(error, wire, self.seconds)
            raise
        return httpx2.Response(
            status_code=response.status,
            # Nothing decodes what has no encoding: the bytes that the stream counts are those that are kept.
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
        # The wire counts against the deadline by itself; the SDK's timeouts hold for single reads only.
        return httpcore2.Request(request.method, url, headers=headers, content=request.read())


class _Body(httpx2.SyncByteStream):
    """An answer's body that ends at the cap."""

    def __init__(
        self, response: httpcore2.Response, connection: httpcore2.HTTPConnection, wire: _Wire, seconds: float
    ) -> None:
        self._response = response
        self._connection = connection
        self._wire = wire
        self._seconds = seconds

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        try:
            for part in self._response.iter_stream():
                taken += len(part)
                _check_size(taken)
                yield part
        except Exception as error:
            _raise_fault(error, self._wire, self._seconds)
            raise

    def close(self) -> None:
        self._response.close()
        self._connection.close()


class _Wire(httpcore2.NetworkBackend, httpcore2.NetworkStream):
    """A single connection: dialled once, to checked addresses only, and read until the deadline at most."""

    def __init__(self, addresses: tuple[str, ...], deadline: float) -> None:
        self.addresses = addresses
        self.deadline = deadline
        self.head = b""
        self.head_is_read = False
        self.taken = 0
        self.has_ended = False
        self.was_sent = False
        self._socket: socket.socket | None = None

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - only a name by now: it is not looked up again
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """Dial the checked addresses, one after the other."""
        problem: OSError | None = None
        for address in self.addresses:
            try:
                self._socket = socket.create_connection((address, port), self._left(httpcore2.ConnectTimeout))
            except OSError as error:
                problem = error
            else:
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return self
        raise httpcore2.ConnectError(type(problem).__name__)

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
    ) -> httpcore2.NetworkStream:
        plain = self._open()
        plain.settimeout(self._left(httpcore2.ConnectTimeout))
        try:
            self._socket = ssl_context.wrap_socket(plain, server_hostname=server_hostname)
        except OSError as error:
            plain.close()
            raise httpcore2.ConnectError(type(error).__name__) from error
        return self

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the deadline counts
        wire = self._open()
        wire.settimeout(self._left(httpcore2.ReadTimeout))
        try:
            data = wire.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout from error
        except OSError as error:
            raise httpcore2.ReadError(type(error).__name__) from error
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

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - the deadline counts
        wire, rest = self._open(), memoryview(buffer)
        try:
            while rest:
                wire.settimeout(self._left(httpcore2.WriteTimeout))
                count = wire.send(rest)
                self.was_sent = True
                rest = rest[count:]
        except TimeoutError as error:
            raise httpcore2.WriteTimeout from error
        except OSError as error:
            raise httpcore2.WriteError(type(error).__name__) from error

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _open(self) -> socket.socket:
        if self._socket is None:
            raise httpcore2.ConnectError
        return self._socket

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
        # A header may come several times, and each may hold a list.
        if name.lower() == b"content-encoding" and value.strip().lower() not in {b"", b"identity"}:
            raise hostile("a compressed body, although plain text was asked for")
        if name.lower() == b"content-length" and value.isdigit():
            _check_size(int(value[:20]))


def _resolved(origin: Origin, policy: Policy, deadline: float, seconds: float) -> tuple[str, ...]:
    """The host's addresses. A resolver keeps no deadline, so it is waited for no longer than ours."""
    found: queue.SimpleQueue[tuple[str, ...] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.put(resolve(origin, policy))
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            found.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        answer = found.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        raise unreachable(f"The host's name could not be looked up within {seconds:g} seconds.") from None
    if isinstance(answer, Exception):
        _raise_refusal(answer)
        raise answer
    return answer


def _raise_refusal(error: Exception) -> None:
    if isinstance(error, UnknownHostError):
        raise unreachable(str(error))
    if isinstance(error, ForbiddenAddressError):
        raise forbidden(str(error))


def _raise_fault(error: BaseException, wire: _Wire, seconds: float) -> None:
    """Raise what the connection's error means; nothing is raised for what is no error of the connection."""
    if isinstance(error, ProviderFault):
        return
    name = type(error).__name__
    if isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout) or (
        isinstance(error, httpcore2.NetworkError | httpcore2.TimeoutException) and not wire.was_sent
    ):
        raise unreachable(_why_unreachable(error), error=name) from None
    if isinstance(error, httpcore2.TimeoutException):
        raise late(seconds, error=name) from None
    if isinstance(error, httpcore2.RemoteProtocolError) and not wire.has_ended:
        raise hostile("what is not HTTP", error=name) from None
    if isinstance(error, httpcore2.NetworkError | httpcore2.ProtocolError):
        raise broken(error=name) from None


def _why_unreachable(error: BaseException) -> str:
    if isinstance(error.__cause__, ssl.SSLError):
        return "The server's certificate could not be verified, or it does not speak TLS."
    if isinstance(error, httpcore2.TimeoutException):
        return "The server could not be connected to in time."
    return "The server refused the connection. Is it running, and is the port right?"
