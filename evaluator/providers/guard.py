"""Decide which addresses this site may call. Users enter them: each is refused unless it is shown to be public.

Addresses are parsed in ``submissions.endpoints.addresses``, which the form uses too. A name is resolved once for each
connection, and the connection goes to the address that was checked: a resolver that changes its answer in between has
no effect.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from submissions.endpoints.addresses import Origin

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PUBLIC_PORTS: Final = frozenset({443, 8443})
# ``is_global`` is true for these: protocol assignments (Oracle's metadata among them), the wire server of Azure, relays
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
_UNKNOWN: Final = "The host name has no IP address. Check its spelling."
_NOT_PUBLIC: Final = "This address is not allowed: it is not public. The operator of this site can allow it."
_OTHER_WAY: Final = "Use https:// and port 443 or 8443; other ways are open to the operator's own networks only."


class ForbiddenAddressError(ValueError):
    """An address that must not be called. The message is for the address's author and names no resolved address.

    ``networks`` are those missing from ``ENDPOINT_NETWORKS``, such as ``127.0.0.1/32``: for the operator only.
    """

    def __init__(self, message: str, networks: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.networks = networks


class UnknownHostError(ForbiddenAddressError):
    """The name has no address, at least at the moment."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows besides public addresses."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, networks: Iterable[str]) -> Self:
        """Parse text such as ``10.1.2.0/24``. Raises ``ValueError``."""
        return cls(tuple(ipaddress.ip_network(network.strip()) for network in networks))

    def allows(self, address: Address) -> bool:
        """Return whether the operator listed the address."""
        return any(address.version == network.version and address in network for network in self.networks)


def resolve(origin: Origin, policy: Policy) -> tuple[str, ...]:
    """Return all addresses of the host; each may be called. Raises :class:`ForbiddenAddressError`."""
    literal = _literal(origin.host)
    found = [literal] if literal is not None else _look_up(origin)
    addresses = tuple(dict.fromkeys(_unwrapped(address) for address in found))
    # Without TLS, or on an unusual port, only the operator's own networks may be reached.
    must_be_listed = origin.scheme != "https" or origin.port not in PUBLIC_PORTS
    unlisted = [each for each in addresses if not policy.allows(each) and (must_be_listed or not is_public(each))]
    if unlisted:
        networks = tuple(f"{each}/{each.max_prefixlen}" for each in unlisted)
        raise ForbiddenAddressError(_OTHER_WAY if all(map(is_public, unlisted)) else _NOT_PUBLIC, networks)
    return tuple(str(address) for address in addresses)


def problem_of_literal(origin: Origin, policy: Policy) -> str:
    """Return why an IP address may not be called, or an empty text. Names are not looked up: each call does that."""
    if _literal(origin.host) is None:
        return ""
    try:
        resolve(origin, policy)
    except ForbiddenAddressError as error:
        return str(error)
    return ""


def is_public(address: Address) -> bool:
    """Return whether it is an ordinary internet address."""
    address = _unwrapped(address)
    if isinstance(address, ipaddress.IPv6Address) and (address not in GLOBAL_UNICAST or address.scope_id):
        return False
    denied = any(address.version == network.version and address in network for network in DENIED)
    return address.is_global and not denied and not address.is_multicast and not address.is_reserved


def _look_up(origin: Origin) -> list[Address]:
    try:
        answers = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UnknownHostError(_UNKNOWN) from error
    if not answers:
        raise UnknownHostError(_UNKNOWN)
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
    """Return the IPv4 address in a mapped IPv6 one, where such a connection goes."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
