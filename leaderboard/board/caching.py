"""Keep what boards are made from. One key for everything kept: a digest of the code and of all that it is made from."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from functools import cache as once
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from django.conf import settings
from django.core.cache import caches

from leaderboard.board.rows import board_rows, shown_metrics, unpublished_of
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
# All that a row shows is of one of these, or of what ``BoardState.surroundings`` counts: results that are counted anew
# get a new metric, labels a new time.
_STAMPED = ("pk", "entry__computed", "entry__date", "rank_from", "rank_to")


class Kept(Generic[_Value]):
    """Hold the ``most`` values of this process that were last used, by digests of all that they are made from.

    As they are: a cache of Django's would pickle each row of a page. They must not be changed.
    """

    def __init__(self, most: int) -> None:
        self._most, self._values, self._lock = most, OrderedDict[str, _Value](), Lock()

    def get_many(self, keys: Iterable[str]) -> dict[str, _Value]:
        """Those that are kept."""
        with self._lock:
            found = {key: self._values[key] for key in keys if key in self._values}
            for key in found:
                self._values.move_to_end(key)
        return found

    def set_many(self, values: Mapping[str, _Value]) -> None:
        """Keep these, and no more of the others than there is room for."""
        with self._lock:
            self._values |= values
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()


ROWS: Final[Kept[BoardRow]] = Kept(1_500)
WRITTEN: Final[Kept[str]] = Kept(1_500)
"""Single rows of boards, and the same as HTML, some 7 kB each."""


@once
def build() -> str:
    """What this process makes pages from: a digest of the code's and templates' times and sizes, and of settings."""
    digest = hashlib.sha256(repr((settings.SITE_NAME, settings.ENVIRONMENT.contact, settings.DEBUG)).encode())
    for folder in ("templates", "static", *(app for app in settings.INSTALLED_APPS if (PROJECT_ROOT / app).is_dir())):
        for file in sorted((PROJECT_ROOT / folder).rglob("*")):
            if file.suffix in {".html", ".py", ".css", ".js"}:
                found = file.stat()
                digest.update(f"{file} {found.st_mtime_ns} {found.st_size}".encode())
    return digest.hexdigest()


def key_of(*made_from: object) -> str:
    """The key of a kept value: a digest of :func:`build` and of the name and all data that the value is made from."""
    return hashlib.sha256(repr((build(), *made_from)).encode()).hexdigest()


def keep(read: Callable[[], _Value], *made_from: object) -> _Value:
    """What ``read`` returns, kept for all processes (pickled) under :func:`key_of` what it is made from."""
    return cast("_Value", caches[PAGES].get_or_set(key_of(*made_from), read))


def kept_rows(listed: QuerySet[EntryMetric], state: BoardState, category: Category | None) -> list[BoardRow]:
    """What ``board_rows`` makes of ``listed``, with a ``stamp``: rows of the same stamp are the same. Two queries.

    Four more where a row is not kept; more than :data:`MOST` rows are read without keeping them. ``state`` is the one
    that was read before.
    """
    found = list(shown_metrics(listed).values_list("entry__system", *_STAMPED))
    if len(found) > MOST:
        return board_rows(listed, state.suite_version, category)
    unpublished = unpublished_of({system for system, *_ in found})
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
