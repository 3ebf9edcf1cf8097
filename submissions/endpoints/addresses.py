"""Parse endpoints' addresses for the form, the sealing of keys and the guard of outgoing requests alike.

Whether an address may be *called* is decided at each call (``evaluator.providers.guard``), since a name may resolve to
another address at any time.
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
# Resolvers treat 0x7f.1, 0177.0.0.1 and 2130706433 as IPv4 addresses; no host name ends in such a label.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


class AddressError(ValueError):
    """A text is not a valid endpoint address. The message is shown to the user."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The target of a connection, to which a key is bound.

    The host is in lower case without a trailing dot; an IP address is in its shortest form, without brackets.
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def origin(base_url: str) -> Origin:
    """Parse scheme, host and port of an endpoint's address. Raises AddressError."""
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
    """Rewrite the address with its :func:`origin`, so that no other parser finds a different host in it.

    Raises AddressError.
    """
    return f"{origin(base_url)}{urlsplit(base_url).path}"


def same_origin(first: str, second: str) -> bool:
    """Return whether a key for one address may be sent to the other; false if one is not a valid address."""
    try:
        return origin(first) == origin(second)
    except AddressError:
        return False


def problem(base_url: str) -> str:
    """Return why ``base_url`` is not a valid endpoint address, or an empty text."""
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
        raise AddressError("The address needs a host name or an IP address, such as api.example.org.")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise AddressError("Write an IPv4 address as four decimal numbers, or use the host's name.")
    return name
