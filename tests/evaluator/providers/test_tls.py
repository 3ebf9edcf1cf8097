"""The checked address is dialled, and the certificate still has to be the name's."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from evaluator.providers.types import FaultKind, ProviderFault
from tests.evaluator.providers.conftest import QUESTION
from tests.provider_server import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.evaluator.providers.conftest import Connect

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
def asked_for() -> list[str | None]:
    """The names that clients asked the TLS server for."""
    return []


@pytest.fixture
def secure_server(certificate: Path, asked_for: list[str | None]) -> Iterator[ProviderServer]:
    """The provider behind TLS."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.sni_callback = lambda _, name, __: asked_for.append(name)
    server = ProviderServer()
    server.server.socket = tls.wrap_socket(server.server.socket, server_side=True)
    with server:
        yield server


@pytest.fixture(autouse=True)
def everything_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver for which every name is the loopback's."""
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **options: Any) -> list[Any]:
        return real("127.0.0.1", port, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_a_certificate_of_the_name_is_taken(
    api: str,
    client_of: Connect,
    secure_server: ProviderServer,
    certificate: Path,
    asked_for: list[str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    client = client_of(api, "right", base_url=f"https://{NAME}:{secure_server.port}/v1")
    assert client.send(client.body(QUESTION)).model == "right"
    assert asked_for == [NAME]
    assert secure_server.log[0].headers["host"] == f"{NAME}:{secure_server.port}"


@pytest.mark.parametrize("trusted", [True, False])
def test_another_names_certificate_is_refused_and_nothing_sent(
    trusted: bool,
    client_of: Connect,
    secure_server: ProviderServer,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    host = "other.example" if trusted else NAME
    client = client_of("chat", "right", base_url=f"https://{host}:{secure_server.port}/v1")
    with pytest.raises(ProviderFault) as raised:
        client.send(client.body(QUESTION))
    assert raised.value.kind == FaultKind.UNSENT
    assert raised.value.message == "The server's certificate could not be verified, or it does not speak TLS."
    assert secure_server.log == []
