"""Read an endpoint's address: the form, the key's seal and the guard of outgoing requests all ask this one parser.

Whether an address may be *called* from here is decided when it is called (``evaluator.providers.guard``): what a name
resolves to can change at any time.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

LONGEST: Final = 300
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PRINTABLE: Final = re.compile(r"[!-~]+")
_NAME: Final = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
# Resolvers read 0x7f.1, 0177.0.0.1 and 2130706433 as IPv4 addresses; no name ends in such a label.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


class AddressError(ValueError):
    """A text that is no endpoint's address. The message is for whoever typed it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a connection goes to, and what a key belongs to.

    The host is in lower case without a trailing dot, an IP address in its shortest form and without brackets.
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def origin(base_url: str) -> Origin:
    """Scheme, host and port of an endpoint's address. Raises AddressError."""
    if len(base_url) > LONGEST:
        raise AddressError(f"An address has at most {LONGEST} characters.")
    if not _PRINTABLE.fullmatch(base_url) or "\\" in base_url:
        raise AddressError(
            "Write the address in plain ASCII without spaces or backslashes, such as https://api.example.org/v1."
        )
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise AddressError("This is not an address; write it as https://api.example.org/v1.") from None
    if parts.scheme not in DEFAULT_PORTS or not base_url.lower().startswith(f"{parts.scheme}://"):
        raise AddressError("An address begins with https:// (or http://, for a server that the operator has allowed).")
    if "@" in parts.netloc:
        raise AddressError("Leave user name and password out of the address; the key has a field of its own.")
    if "?" in base_url or "#" in base_url:
        raise AddressError("Leave out everything from “?” or “#” on.")
    if port == 0 or parts.netloc.endswith(":"):
        raise AddressError("The port is a number from 1 to 65535; leave out the colon for the usual one.")
    if any(part in {".", ".."} for part in parts.path.split("/")):
        raise AddressError("Leave “.” and “..” out of the path.")
    return Origin(parts.scheme, _host(parts), port or DEFAULT_PORTS[parts.scheme])


def canonical(base_url: str) -> str:
    """The same address with its origin as :func:`origin` has it: no other parser can find another host in it.

    Raises AddressError.
    """
    return f"{origin(base_url)}{urlsplit(base_url).path}"


def same_origin(first: str, second: str) -> bool:
    """Whether a key for one address may be sent to the other. Nothing that is no address has a key."""
    try:
        return origin(first) == origin(second)
    except AddressError:
        return False


def problem(base_url: str) -> str:
    """What keeps ``base_url`` from being an endpoint's address at all; empty when nothing does."""
    try:
        origin(base_url)
    except AddressError as error:
        return str(error)
    return ""


def _host(parts: SplitResult) -> str:
    name, bracketed = (parts.hostname or "").removesuffix("."), "[" in parts.netloc
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        address = None
    if address is not None and "%" not in name and bracketed == (address.version == 6):
        return str(address)
    if bracketed or address is not None or not _NAME.fullmatch(name):
        raise AddressError("The address needs the name of a host, or its number, such as api.example.org.")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise AddressError("Write an IPv4 address as four decimal numbers, or the name of the host.")
    return name
