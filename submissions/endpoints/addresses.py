"""What an endpoint's address may look like, and the origin that its key belongs to.

Whether an address may be *called* from here is decided when it is called (``evaluator.providers.guard``): what a name
resolves to can change at any time.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

LONGEST: Final = 300
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PRINTABLE: Final = re.compile(r"[!-~]+")
_NAME: Final = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)


def origin(base_url: str) -> str:
    """``scheme://host:port``, normalised: what may be given the key. Raises ``ValueError`` where there is none."""
    wrong = problem(base_url)
    if wrong:
        raise ValueError(wrong)
    parts = urlsplit(base_url)
    host = _host(parts)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{parts.port or _DEFAULT_PORTS[parts.scheme]}"


def problem(base_url: str) -> str:
    """What keeps ``base_url`` from being an endpoint's address at all; empty when nothing does."""
    if len(base_url) > LONGEST:
        return f"An address has at most {LONGEST} characters."
    if not _PRINTABLE.fullmatch(base_url) or "\\" in base_url:
        return "Write the address in plain ASCII without spaces or backslashes, such as https://api.example.org/v1."
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        return "This is not an address; write it as https://api.example.org/v1."
    if parts.scheme not in _DEFAULT_PORTS or not base_url.lower().startswith(f"{parts.scheme}://"):
        return "An address begins with https:// (or http://, for a server that the operator has allowed)."
    if "@" in parts.netloc:
        return "Leave user name and password out of the address; the key has a field of its own."
    if "?" in base_url or "#" in base_url:
        return "Leave out everything from “?” or “#” on."
    return _wrong_place(parts, port)


def _wrong_place(parts: SplitResult, port: int | None) -> str:
    """What is wrong with host, port or path."""
    if port == 0 or parts.netloc.endswith(":"):
        return "The port is a number from 1 to 65535; leave out the colon for the usual one."
    if not _is_host(parts):
        return "The address needs the name of a host, or its number, such as api.example.org."
    if any(part in {".", ".."} for part in parts.path.split("/")):
        return "Leave “.” and “..” out of the path."
    return ""


def _host(parts: SplitResult) -> str:
    """The host in lower case; numbers in their shortest form."""
    name = (parts.hostname or "").removesuffix(".")
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


def _is_host(parts: SplitResult) -> bool:
    host = _host(parts)
    if "[" in parts.netloc:
        try:
            return ipaddress.ip_address(host).version == 6 and "%" not in host
        except ValueError:
            return False
    return bool(_NAME.fullmatch(host))
