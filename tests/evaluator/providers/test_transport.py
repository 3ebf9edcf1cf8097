"""Outgoing connections: which server is reached, and what a hostile one can cost."""

from __future__ import annotations

import datetime as dt
import resource
import socket
import ssl
import threading
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.providers.guard import Policy
from evaluator.providers.interface import FailureKind, ProviderError
from submissions.endpoints.addresses import origin, problem
from tests.conftest import examples
from tests.evaluator.providers.conftest import KEY, QUESTION
from tests.provider_server import ProviderServer
from tests.provider_server.wire import BOMBS, packed_bomb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.evaluator.providers.conftest import Connect
    from tests.provider_server import ProviderServer


NOT_PUBLIC = "Nothing was sent. This address is not allowed: it is not public. The operator of this site can allow it."

COMPRESSED = "a compressed body, although plain text was requested"
each_sdk = pytest.mark.parametrize("api", ["chat", "messages"])


def failure_of(client: Any) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        client.send(client.body(QUESTION))
    return raised.value


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """A resolver that takes its answers from the first list, in order, and adds each requested name to the second."""
    addresses: list[str] = []
    names: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **options: Any) -> list[Any]:
        if host.replace(".", "").isdigit():
            return real(host, port, *rest, **options)
        names.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (addresses.pop(0), port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return addresses, names


@each_sdk
def test_a_name_is_resolved_once_and_the_checked_address_is_called(
    api: str, client_of: Connect, provider_server: ProviderServer, resolver: tuple[list[str], list[str]]
) -> None:
    addresses, names = resolver
    addresses += ["127.0.0.1", "10.0.0.1"]
    client = client_of(api, "right", base_url=f"http://models.example:{provider_server.port}/v1")
    assert client.send(client.body(QUESTION)).model == "right"
    assert (names, addresses) == (["models.example"], ["10.0.0.1"])
    assert provider_server.log[0].headers["host"] == f"models.example:{provider_server.port}"


def test_a_name_that_turns_to_the_loopback_is_not_followed(
    client_of: Connect, provider_server: ProviderServer, resolver: tuple[list[str], list[str]]
) -> None:
    addresses, names = resolver
    addresses.append("127.0.0.1")
    failure = failure_of(client_of("chat", "right", base_url="https://models.example/v1", policy=Policy()))
    assert (failure.kind, failure.message) == (FailureKind.FORBIDDEN, NOT_PUBLIC)
    assert (names, provider_server.log) == (["models.example"], [])


@each_sdk
@pytest.mark.parametrize("model", ["redirect", "redirect-away"])
def test_redirects_are_not_followed(api: str, model: str, client_of: Connect, provider_server: ProviderServer) -> None:
    failure = failure_of(client_of(api, model))
    assert (failure.kind, failure.error) == (FailureKind.HOSTILE, "a redirect to another address")
    assert [(received.method, received.answered) for received in provider_server.log] == [("POST", model)]


def test_proxies_and_headers_of_the_environment_are_ignored(
    api: str, client_of: Connect, provider_server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_ORG_ID", "operators-organisation")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "operators-token")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "User-Agent-Secret: operators-header")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
    client = client_of(api, "right")
    assert client.send(client.body(QUESTION)).model == "right"
    (received,) = provider_server.log
    secret = {"x-api-key": KEY} if api == "messages" else {"authorization": f"Bearer {KEY}"}
    version = {"anthropic-version"} if api == "messages" else set()
    assert {name: value for name, value in received.headers.items() if name in {"x-api-key", "authorization"}} == secret
    assert received.every_header == {
        *("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent"),
        *secret,
        *version,
    }
    assert received.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("api", "model", "kind", "error"),
    [
        ("chat", "drip", FailureKind.LOST, "ReadTimeout"),
        ("messages", "drip", FailureKind.LOST, "ReadTimeout"),
        ("chat", "drip-headers", FailureKind.LOST, "ReadTimeout"),
        ("messages", "flood-headers", FailureKind.HOSTILE, "headers without end"),
        ("chat", "endless", FailureKind.HOSTILE, "more than 4 MB"),
        ("messages", "endless", FailureKind.HOSTILE, "more than 4 MB"),
        ("chat", "huge", FailureKind.HOSTILE, "more than 4 MB"),
        ("messages", "bomb", FailureKind.HOSTILE, COMPRESSED),
        *(("chat", bomb, FailureKind.HOSTILE, COMPRESSED) for bomb in BOMBS),
    ],
)
def test_a_hostile_server_costs_bounded_time_and_memory(
    api: str, model: str, kind: FailureKind, error: str, client_of: Connect, provider_server: ProviderServer
) -> None:
    warm = client_of(api, "right")
    warm.send(warm.body(QUESTION))
    packed_bomb()
    client = client_of(api, model, request_seconds=1.0)
    before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    failure = failure_of(client)
    assert time.monotonic() - begun < 2.0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 24 * 1024
    assert (failure.kind, failure.error) == (kind, error)
    assert len(provider_server.requests) == 2


def test_a_resolver_that_hangs_ends_with_the_deadline(client_of: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    hang = threading.Event()

    def never(host: str, port: int, **options: Any) -> list[Any]:
        hang.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", never)
    begun = time.monotonic()
    client = client_of("chat", "right", base_url="https://models.example/v1", request_seconds=0.3)
    failure = failure_of(client)
    hang.set()
    assert failure.kind == FailureKind.UNSENT
    assert failure.message == "The host's name could not be looked up within 0.3 seconds."
    assert time.monotonic() - begun < 5


def test_nothing_is_sent_if_the_server_refuses_the_connection(client_of: Connect) -> None:
    failure = failure_of(client_of("chat", "right", base_url="http://127.0.0.1:1/v1"))
    assert (failure.kind, failure.error) == (FailureKind.UNSENT, "ConnectError")
    assert failure.message == "The server refused the connection. Is it running, and is the port right?"


HOSTS = st.sampled_from(
    [
        *("models.example", "MODELS.example.", "a_b", "xn--mdels-jua.example", "localhost", "127.0.0.1", "127.0.0.1."),
        *("[::1]", "[0:0:0:0:0:0:0:1]", "[::FFFF:127.0.0.1]", "[fe80::1%25eth0]", "127.1", "0x7f.1", "2130706433"),
        *(
            "a%2eb",
            "a;b",
            "a,b",
            "a!b",
            "me@127.0.0.1",
            "127.0.0.1#@models.example",
            "[::1",
            "::1",
            "",
            ".",
            "-a",
            "1.a",
        ),
    ]
)
ADDRESSES = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["https://", "http://", "HTTP://", "https:/", "//", ""]),
        HOSTS | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12),
        st.sampled_from(["", ":", ":443", ":80", ":8443", ":0", ":65535", ":99999", ":0443", ":4_3", ":+80"]),
        st.sampled_from(["", "/", "/v1", "//127.0.0.2/v1", "/@127.0.0.2:1/", "/v1%2f..", "/;x=[1]"])
        | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8).map("/{}".format),
    ),
)


@settings(max_examples=examples(150))
@given(address=ADDRESSES, kind=st.sampled_from(["chat", "messages"]))
def test_the_connection_goes_to_the_origin_that_the_form_accepts(
    address: str, kind: str, client_of: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One parser decides: whatever the SDKs and their HTTP library read in an address, the checked origin is called."""
    called: list[tuple[str, int]] = []

    def look_up(host: str, port: int, **options: Any) -> list[Any]:
        called.append((host, port))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.3", port))]

    def dial(target: tuple[str, int], timeout: float, **options: Any) -> socket.socket:
        called.append(target)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", dial)
    client = client_of(kind, "right", base_url=address, policy=Policy.of(["0.0.0.0/0", "::/0"]))
    failure = failure_of(client)
    client.close()
    if problem(address):
        assert (failure.kind, failure.message, called) == (FailureKind.FORBIDDEN, problem(address), [])
        return
    expected = origin(address)
    try:
        dialled = ip_address(expected.host)
        dialled = getattr(dialled, "ipv4_mapped", None) or dialled
        assert called == [(str(dialled), expected.port)]
    except ValueError:
        assert called == [(expected.host, expected.port), ("127.0.0.3", expected.port)]
    assert (failure.kind, failure.error) == (FailureKind.UNSENT, "ConnectError")


NAME = "models.example"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate and its key for ``NAME``, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file = tmp_path / "certificate.pem"
    file.write_bytes(built.public_bytes(serialization.Encoding.PEM) + pem)
    return file


@pytest.fixture
def server_names() -> list[str | None]:
    """The server names that clients sent in their TLS handshake."""
    return []


@pytest.fixture
def secure_server(certificate: Path, server_names: list[str | None]) -> Iterator[ProviderServer]:
    """The provider behind TLS."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.sni_callback = lambda _, name, __: server_names.append(name)
    server = ProviderServer()
    server.server.socket = tls.wrap_socket(server.server.socket, server_side=True)
    with server:
        yield server


@pytest.fixture
def every_name_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver for which every name is the loopback's."""
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **options: Any) -> list[Any]:
        return real("127.0.0.1", port, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.usefixtures("every_name_is_local")
def test_a_certificate_of_the_name_is_accepted(
    client_of: Connect,
    secure_server: ProviderServer,
    certificate: Path,
    server_names: list[str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    client = client_of("chat", "right", base_url=f"https://{NAME}:{secure_server.port}/v1")
    assert client.send(client.body(QUESTION)).model == "right"
    assert server_names == [NAME]
    assert secure_server.log[0].headers["host"] == f"{NAME}:{secure_server.port}"


@pytest.mark.usefixtures("every_name_is_local")
@pytest.mark.parametrize("trusted", [True, False])
def test_another_names_certificate_is_refused_and_nothing_sent(
    trusted: bool, client_of: Connect, secure_server: ProviderServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    host = "other.example" if trusted else NAME
    client = client_of("chat", "right", base_url=f"https://{host}:{secure_server.port}/v1")
    with pytest.raises(ProviderError) as raised:
        client.send(client.body(QUESTION))
    assert raised.value.kind == FailureKind.UNSENT
    assert raised.value.message == "The server's certificate could not be verified, or it does not speak TLS."
    assert secure_server.log == []


def test_a_reply_that_is_not_http_is_hostile(client_of: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
                connection.recv(100_000)

        thread = threading.Thread(target=greet)
        thread.start()
        failure = failure_of(client_of("chat", "right", base_url=f"http://127.0.0.1:{server.getsockname()[1]}/v1"))
        thread.join()
    assert (failure.kind, failure.error) == (FailureKind.HOSTILE, "RemoteProtocolError")
