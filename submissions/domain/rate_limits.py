"""Count requests against limits per minute or hour, in the cache that all processes share."""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from allauth.account.adapter import get_adapter
from django.core.cache import cache

if TYPE_CHECKING:
    from django.http import HttpRequest

MINUTE: Final = 60
HOUR: Final = 3600
_HOUSEHOLD_BITS: Final = 64
"""Prefix length of the IPv6 network that one household has."""


class Used(NamedTuple):
    """Uses in this period including this one (at most one above the limit), and seconds until it ends."""

    times: int
    seconds: int


def count(name: str, *, limit: int, period: int) -> Used:
    """Count one use of ``name`` in this ``period`` (seconds), unless ``limit`` uses are counted already.

    Simultaneous uses may count as one: the limit is meant to stop loops, so a few extra uses do no harm.
    """
    number, past = divmod(int(time.time()), period)
    key = f"{name}:{number}"
    times = int(cache.get(key, 0)) + 1
    if times <= limit:
        cache.set(key, times, period)
    return Used(times, period - past)


def client_network(request: HttpRequest) -> str:
    """Return the client's address, also behind a trusted proxy; for IPv6, the household's network.

    Raises ``PermissionDenied`` if the server listens on a Unix socket without a proxy that sends the address.
    """
    text = str(get_adapter().get_client_ip(request))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if address.version == 4:
        return text
    return str(ipaddress.ip_network((address, _HOUSEHOLD_BITS), strict=False).network_address)
