"""Read requests: suite version, sort key and the client's address; write query strings of links."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404

from benchmark_tasks.models import SuiteVersion
from submissions.domain.rate_limits import client_network

if TYPE_CHECKING:
    from collections.abc import Collection

    from django.http import HttpRequest, QueryDict

    from benchmark_tasks.models import Suite


def query_with(params: QueryDict, **changes: str | None) -> str:
    """Return the query string of ``params`` with some keys set, or removed by None; a bare ``?`` if none remain."""
    changed = params.copy()
    for key, value in changes.items():
        changed.pop(key, None)
        if value:
            changed[key] = value
    for key in [key for key in changed if not changed[key]]:
        del changed[key]
    return f"?{changed.urlencode()}"


def requested_version(request: HttpRequest, suite: Suite | str) -> SuiteVersion | None:
    """Return the version of a suite (or its slug) that ``?version=`` names, else the newest; None if there is none.

    Suite, seed epoch and the board's state are read with it. Raises Http404 for an invalid or unknown number.
    """
    named = {"suite__slug": suite} if isinstance(suite, str) else {"suite": suite}
    versions = SuiteVersion.objects.filter(**named).select_related("suite", "seed_epoch", "board_state")
    number = request.GET.get("version", "")
    if not number:
        return versions.order_by("-number").first()
    if not re.fullmatch(r"[1-9][0-9]{0,8}", number, re.ASCII):
        raise Http404(f"“{number[:20]}” is not a version number.")
    return get_object_or_404(versions, number=number)


def client_address(request: HttpRequest) -> str:
    """Return the client's address as limits of sign-ins count it: from a trusted proxy, too, and IPv6 by network.

    An IPv6 network is that of one household. ``unknown`` if the server listens on a Unix socket without a proxy that
    sends the address.
    """
    try:
        return client_network(request)
    except PermissionDenied:
        return "unknown"


def requested_sort(params: QueryDict, keys: Collection[str], default: str) -> str:
    """Return the key that ``?sort=`` names, with "-" before it to descend; ``default`` if it is unknown."""
    sort = params.get("sort", "")
    return sort if sort.removeprefix("-") in keys else default


def sort_columns(
    params: QueryDict, keys: Collection[str], default: str, *, ascending: Collection[str] = ("system", "state")
) -> dict[str, dict[str, str]]:
    """Return the link and ``aria-sort`` state by column. ``ascending`` columns start at A, others at the largest."""
    sort = requested_sort(params, keys, default)
    columns = {}
    for key in keys:
        state = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
        descends = key not in ascending if state == "none" else state == "ascending"
        target = f"-{key}" if descends else key
        query = query_with(params, sort=None if target == default else target, page=None)
        columns[key] = {"query": query, "state": state}
    return columns
