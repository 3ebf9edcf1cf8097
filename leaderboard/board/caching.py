"""Cache rows and parts of boards, each under a digest of the code and of all data that the value is made from."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from functools import cache as once
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from django.conf import settings
from django.core.cache import caches
from django.core.exceptions import EmptyResultSet
from django.db import connection

from leaderboard.board.rows import board_rows, shown_metrics, unpublished_counts, unpublished_of
from leaderboard.models import EntryMetric
from leaderboard.settings.environment import PROJECT_ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from django.db.models import QuerySet

    from benchmark_tasks.models import Category
    from leaderboard.board.row import BoardRow
    from leaderboard.models import BoardState

_Value = TypeVar("_Value")

PAGES: Final = "pages"
"""Django's cache of rendered pages."""
MOST: Final = 500
# Everything that a row shows changes one of these or ``BoardState.surroundings``: recounted results get a new metric,
# recounted labels a new time.
_STAMPED = ("pk", "entry__computed", "entry__date", "rank_from", "rank_to", "represents")


class Kept(Generic[_Value]):
    """Cache the ``most`` recently used values in this process, by digests of all that they are made from.

    Values are not copied, so they must not be changed: Django's caches would pickle each row of a page.
    """

    def __init__(self, most: int) -> None:
        self._most, self._values, self._lock = most, OrderedDict[str, _Value](), Lock()

    def get_many(self, keys: Iterable[str]) -> dict[str, _Value]:
        """Return the cached values among ``keys``."""
        with self._lock:
            found = {key: self._values[key] for key in keys if key in self._values}
            for key in found:
                self._values.move_to_end(key)
        return found

    def set_many(self, values: Mapping[str, _Value]) -> None:
        """Cache ``values``, and remove the least recently used beyond the limit."""
        with self._lock:
            self._values |= values
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()


ROWS: Final[Kept[BoardRow]] = Kept(1_500)
WRITTEN: Final[Kept[str]] = Kept(1_500)
"""Single rows and other parts of boards as HTML, about 7 kB each."""
PARTS: Final[Kept[Any]] = Kept(300)
"""Values of :func:`keep`."""


def forget() -> None:
    """Empty all caches of this process, pages too."""
    caches[PAGES].clear()
    for cache in (ROWS, WRITTEN, PARTS):
        cache.clear()


@once
def build() -> str:
    """Return a digest of what this process makes pages from: times and sizes of code and templates, and settings."""
    digest = hashlib.sha256(repr((settings.SITE_NAME, settings.ENVIRONMENT.contact, settings.DEBUG)).encode())
    apps = dict.fromkeys(app.partition(".")[0] for app in settings.INSTALLED_APPS)
    for folder in ("templates", "static", *apps):
        for file in sorted((PROJECT_ROOT / folder).rglob("*")):
            if file.suffix in {".html", ".py", ".css", ".js"}:
                found = file.stat()
                digest.update(f"{file} {found.st_mtime_ns} {found.st_size}".encode())
    return digest.hexdigest()


def key_of(*made_from: object) -> str:
    """Return the key of a cached value: a digest of :func:`build`, its name and all data that it is made from."""
    return hashlib.sha256(repr((build(), *made_from)).encode()).hexdigest()


def keep(read: Callable[[], _Value], *made_from: object) -> _Value:
    """Return the result of ``read``, cached in this process under ``key_of(*made_from)``. It must not be changed."""
    key = key_of(*made_from)
    kept = PARTS.get_many([key])
    if key not in kept:
        kept = {key: read()}
        PARTS.set_many(kept)
    return cast("_Value", kept[key])


def fetched(query: Callable[[], QuerySet[Any, Any]], *made_from: object) -> list[tuple[Any, ...]]:
    """Read a query of ``values_list``, whose SQL is cached under ``key_of(*made_from)``: building it takes longest.

    ``made_from`` must name all that the query depends on. Times and other converted types are as the database's driver
    returns them.
    """

    def build() -> tuple[str, tuple[Any, ...]] | None:
        try:
            return query().query.sql_with_params()
        except EmptyResultSet:
            return None

    built = keep(build, "sql", *made_from)
    if built is None:
        return []
    with connection.cursor() as cursor:
        cursor.execute(*built)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def kept_rows(
    listed: QuerySet[EntryMetric], state: BoardState, category: Category | None, *made_from: object
) -> list[BoardRow]:
    """Return ``board_rows`` of ``listed``, each with a ``stamp``: rows with the same stamp are equal. Two queries.

    Four more queries if a row is not cached. More than :data:`MOST` rows are not cached. ``state`` is the board's state
    as read before; ``made_from`` names all that ``listed`` depends on.
    """
    found = fetched(lambda: shown_metrics(listed).values_list("entry__system", *_STAMPED), "listed", *made_from)
    if len(found) > MOST:
        return board_rows(listed, state.suite_version, category)
    systems = sorted({system for system, *_ in found})
    unpublished = unpublished_of(fetched(lambda: unpublished_counts(systems), "unpublished", systems))
    stamps = {
        pk: key_of(state.surroundings, unpublished.get((system, state.suite_version.suite_id), 0), pk, *changing)
        for system, pk, *changing in found
    }
    kept = ROWS.get_many(stamps.values())
    missing = [pk for pk, stamp in stamps.items() if stamp not in kept]
    if missing:
        read = EntryMetric.objects.filter(pk__in=missing)
        new = {
            stamps[row.metric]: row.model_copy(update={"stamp": stamps[row.metric]})
            for row in board_rows(read, state.suite_version, category)
        }
        ROWS.set_many(new)
        kept |= new
    return [kept[stamp] for stamp in stamps.values() if stamp in kept]
