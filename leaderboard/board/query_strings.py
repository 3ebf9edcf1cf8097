"""Small things that views share."""

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
    """The query string of ``params`` with some keys set, or dropped by None; a bare ``?`` when nothing is left."""
    changed = params.copy()
    for key, value in changes.items():
        changed.pop(key, None)
        if value:
            changed[key] = value
    for key in [key for key in changed if not changed[key]]:
        del changed[key]
    return f"?{changed.urlencode()}"


def asked_version(request: HttpRequest, suite: Suite | str) -> SuiteVersion | None:
    """The version that ``?version=`` names of a suite (or its slug), else the newest, None when there is none.

    With suite, seed epoch and the board's state at hand. Raises Http404.
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
    """The client's address as sign-ins count it: behind a trusted proxy too, and of IPv6 the network of one household.

    ``unknown`` where the server listens on a Unix socket without a proxy that sends it.
    """
    try:
        return client_network(request)
    except PermissionDenied:
        return "unknown"


def asked_sort(params: QueryDict, keys: Collection[str], default: str) -> str:
    """The key that ``?sort=`` names, with "-" before it to descend; ``default`` for one that there is not."""
    sort = params.get("sort", "")
    return sort if sort.removeprefix("-") in keys else default


def sort_columns(
    params: QueryDict, keys: Collection[str], default: str, *, ascending: Collection[str] = ("system", "state")
) -> dict[str, dict[str, str]]:
    """Per sortable column its link and ``aria-sort`` state. ``ascending`` ones start at A, the rest at the largest."""
    sort = asked_sort(params, keys, default)
    columns = {}
    for key in keys:
        state = {key: "ascending", f"-{key}": "descending"}.get(sort, "none")
        descends = key not in ascending if state == "none" else state == "ascending"
        target = f"-{key}" if descends else key
        query = query_with(params, sort=None if target == default else target, page=None)
        columns[key] = {"query": query, "state": state}
    return columns
