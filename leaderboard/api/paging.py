"""Split lists into pages with links to the next and the previous page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from django.db.models import QuerySet
from ninja import Field, Schema

from leaderboard.board.query_strings import query_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from django.http import HttpRequest

Item = TypeVar("Item")
LARGEST_PAGE: Final = 100
_LAST_PAGE: Final = 1_000_000


class Paging(Schema):
    """Select a page of a list."""

    page: int = Field(1, ge=1, le=_LAST_PAGE, description="Counted from 1.")
    size: int = Field(25, ge=1, le=LARGEST_PAGE, description="Items per page.")


class Page(Schema, Generic[Item]):
    """A page of a list. ``next`` and ``previous`` are addresses, null if there is no such page."""

    items: list[Item]
    total: int
    page: int
    size: int
    next: str | None
    previous: str | None


def paged(
    request: HttpRequest,
    rows: QuerySet[Any] | Sequence[Any],
    paging: Paging,
    show: Callable[[Any], Iterable[Any]],
) -> dict[str, Any]:
    """Return the requested page of ``rows``. ``show`` converts the rows on it (a list or a queryset) to items."""
    total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    first = (paging.page - 1) * paging.size
    return {
        "items": list(show(rows[first : first + paging.size])) if first < total else [],
        "total": total,
        "page": paging.page,
        "size": paging.size,
        "next": _address(request, paging.page + 1) if first + paging.size < total else None,
        "previous": _address(request, paging.page - 1) if paging.page > 1 else None,
    }


def _address(request: HttpRequest, page: int) -> str:
    return request.build_absolute_uri(f"{request.path}{query_with(request.GET, page=str(page))}")
