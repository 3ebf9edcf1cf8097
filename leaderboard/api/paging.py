"""Lists in pages, with links to the next and the previous one."""

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
    """Which part of a list is asked for."""

    page: int = Field(1, ge=1, le=_LAST_PAGE, description="Counted from 1.")
    size: int = Field(25, ge=1, le=LARGEST_PAGE, description="How many items a page has.")


class Page(Schema, Generic[Item]):
    """A part of a list. ``next`` and ``previous`` are addresses, null where there is no such page."""

    items: list[Item]
    total: int
    page: int
    size: int
    next: str | None
    previous: str | None


def paged(
    request: HttpRequest,
    rows: QuerySet[Any] | Sequence[Any],
    asked: Paging,
    show: Callable[[Any], Iterable[Any]],
) -> dict[str, Any]:
    """The asked page of ``rows``. ``show`` makes items of the part that is on it: a list, or a queryset to be read."""
    total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    first = (asked.page - 1) * asked.size
    return {
        "items": list(show(rows[first : first + asked.size])) if first < total else [],
        "total": total,
        "page": asked.page,
        "size": asked.size,
        "next": _address(request, asked.page + 1) if first + asked.size < total else None,
        "previous": _address(request, asked.page - 1) if asked.page > 1 else None,
    }


def _address(request: HttpRequest, page: int) -> str:
    return request.build_absolute_uri(f"{request.path}{query_with(request.GET, page=str(page))}")
