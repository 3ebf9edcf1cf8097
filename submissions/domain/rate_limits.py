"""Count requests against a limit for each minute or hour, in the cache that all processes share."""

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
"""One household has a whole IPv6 network of this prefix."""


class Used(NamedTuple):
    """How often in this period, with this time, and the seconds until it ends. Beyond the limit one more at most."""

    times: int
    seconds: int


def count(name: str, *, limit: int, period: int) -> Used:
    """Count one use of ``name`` in this ``period`` (seconds), unless ``limit`` of them are counted already.

    Two at the same moment may count as one: the limit is against loops, and a few more do no harm.
    """
    number, past = divmod(int(time.time()), period)
    key = f"{name}:{number}"
    times = int(cache.get(key, 0)) + 1
    if times <= limit:
        cache.set(key, times, period)
    return Used(times, period - past)


def client_network(request: HttpRequest) -> str:
    """The client's address, behind a trusted proxy too; of IPv6 the network of one household.

    Raises ``PermissionDenied`` where the server listens on a Unix socket without a proxy that sends it.
    """
    text = str(get_adapter().get_client_ip(request))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if address.version == 4:
        return text
    return str(ipaddress.ip_network((address, _HOUSEHOLD_BITS), strict=False).network_address)
