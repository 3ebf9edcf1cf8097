"""Which addresses may be called from here. A person types them, so every one is foreign until shown to be public.

A name is resolved once for each connection, and the connection goes to the address that was checked: a resolver that
changes its mind in between changes nothing. Standard library only.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
PUBLIC_PORTS: Final = frozenset({443, 8443})
# ``is_global`` says yes to these: protocol assignments (Oracle's metadata among them), the wire server of Azure, relays
# and translations that lead back to IPv4, segment routing, documentation, multicast.
DENIED: Final[tuple[Network, ...]] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",
        "224.0.0.0/4",
        "::/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fec0::/10",
        "ff00::/8",
    )
)
GLOBAL_UNICAST: Final = ipaddress.ip_network("2000::/3")
_NOT_PUBLIC: Final = "This is not a public address, and the operator has not allowed it (ENDPOINT_NETWORKS)."
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# Resolvers read 0x7f.1, 0177.0.0.1 and 2130706433 as IPv4 addresses; no name ends in such a label.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


class ForbiddenAddressError(ValueError):
    """An address that must not be called. The message is for whoever typed it, and names no address of ours."""


class UnknownHostError(ForbiddenAddressError):
    """The name has no address, at least not now."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows beyond public addresses."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, networks: Iterable[str]) -> Self:
        """From text such as ``10.1.2.0/24``. Raises ``ValueError``."""
        return cls(tuple(ipaddress.ip_network(network.strip()) for network in networks))

    def allows(self, address: Address) -> bool:
        """Whether the operator listed it."""
        return any(address.version == network.version and address in network for network in self.networks)


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a checked address; the host in lower case without a trailing dot."""

    scheme: str
    host: str
    port: int

    @property
    def must_be_listed(self) -> bool:
        """Whether only the operator's own networks may be reached this way: no TLS, or an unusual port."""
        return self.scheme != "https" or self.port not in PUBLIC_PORTS


def check_url(url: str, policy: Policy) -> Origin:
    """The origin of an address that may be called, as far as that can be said now. Raises ForbiddenAddressError."""
    origin = parse_url(url)
    if origin.must_be_listed or _literal(origin.host) is not None:
        resolve(origin, policy)
    return origin


def parse_url(url: str) -> Origin:
    """The origin of an address, judged by its spelling alone. Raises :class:`ForbiddenAddressError`."""
    if not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        msg = "Write the address in plain ASCII, without spaces and backslashes."
        raise ForbiddenAddressError(msg)
    try:
        parts = urlsplit(url)
        port, host = parts.port, (parts.hostname or "").lower().removesuffix(".")
    except ValueError as error:
        msg = "This is not an address such as https://api.example.org/v1."
        raise ForbiddenAddressError(msg) from error
    if parts.scheme not in DEFAULT_PORTS:
        msg = "The address must begin with https://."
        raise ForbiddenAddressError(msg)
    if "@" in parts.netloc or "?" in url or "#" in url:
        msg = "Leave user names, passwords, queries and fragments out of the address."
        raise ForbiddenAddressError(msg)
    _check_host(host, bracketed="[" in parts.netloc)
    if port == 0:
        msg = "Port 0 cannot be called."
        raise ForbiddenAddressError(msg)
    return Origin(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])


def resolve(origin: Origin, policy: Policy) -> tuple[str, ...]:
    """All addresses of the host, asked for once; each may be called. Raises :class:`ForbiddenAddressError`."""
    literal = _literal(origin.host)
    found = [literal] if literal is not None else _look_up(origin)
    addresses = tuple(dict.fromkeys(_unwrapped(address) for address in found))
    for address in addresses:
        if not policy.allows(address) and not is_public(address):
            raise ForbiddenAddressError(_NOT_PUBLIC)
        if origin.must_be_listed and not policy.allows(address):
            msg = "Use https:// and port 443 or 8443; other ways are open to the operator's own networks only."
            raise ForbiddenAddressError(msg)
    return tuple(str(address) for address in addresses)


def is_public(address: Address) -> bool:
    """Whether it is an ordinary address of the internet."""
    address = _unwrapped(address)
    if isinstance(address, ipaddress.IPv6Address) and (address not in GLOBAL_UNICAST or address.scope_id):
        return False
    denied = any(address.version == network.version and address in network for network in DENIED)
    return address.is_global and not denied and not address.is_multicast and not address.is_reserved


def _look_up(origin: Origin) -> list[Address]:
    try:
        answers = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        msg = "The host's name has no address. Check its spelling."
        raise UnknownHostError(msg) from error
    if not answers:
        msg = "The host's name has no address. Check its spelling."
        raise UnknownHostError(msg)
    try:
        return [ipaddress.ip_address(answer[4][0]) for answer in answers]
    except ValueError as error:
        raise ForbiddenAddressError(_NOT_PUBLIC) from error


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _unwrapped(address: Address) -> Address:
    """The IPv4 address in an IPv6 one, which is where such a connection goes."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _check_host(host: str, *, bracketed: bool) -> None:
    literal = _literal(host)
    if isinstance(literal, ipaddress.IPv6Address) and bracketed and not literal.scope_id:
        return
    if isinstance(literal, ipaddress.IPv4Address) and not bracketed:
        return
    labels = host.split(".")
    if len(host) > 253 or bracketed or not all(_LABEL.fullmatch(label) for label in labels):
        msg = "The address needs the name of a host, such as api.example.org."
        raise ForbiddenAddressError(msg)
    if _NUMBER.fullmatch(labels[-1]):
        msg = "Write an IPv4 address as four decimal numbers."
        raise ForbiddenAddressError(msg)
