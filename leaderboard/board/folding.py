"""Fold the rows of a system: one represents those with the same inputs, and re-measured rows follow reported ones."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F

from leaderboard.board.rows import board_metrics
from leaderboard.board.states import board_changed
from leaderboard.models import Entry, EntryMetric
from leaderboard.models.enums import Provenance
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from django.db.models import QuerySet
    from django.http import QueryDict

    from benchmark_tasks.models import Category, SuiteVersion
    from leaderboard.board.row import BoardRow


def may_fold(params: QueryDict) -> bool:
    """Return whether no filter chooses among a system's rows with the same inputs."""
    return params.get("show", "all") in {"", "all"} and not params.get("since") and not params.get("until")


def folds(params: QueryDict) -> bool:
    """Return whether rows are folded: unless ``?fold=no``, or a filter chooses among a system's rows."""
    return may_fold(params) and params.get("fold") != "no"


def represent(system: int) -> None:
    """Choose again which of a system's rows represent its others, on every suite version: a row can move to another.

    Of the rows with the same inputs it is the one with the strongest claim, and of equal claims the newest: results
    play no part. A row with answers to fewer than all counted tasks represents none; :func:`with_partial` shows it.
    Called after the change of a row is committed, so that the later of two concurrent calls sees both changes.
    """
    with transaction.atomic():
        list(Entry.objects.select_for_update(no_key=True).filter(system=system).order_by("pk").values_list("pk"))
        group = ("suite_version", "listed", "entry__inputs")
        found = EntryMetric.objects.filter(entry__system=system, category=None, answered=None)
        strongest = found.order_by(*group, "strength", F("entry__date").desc(nulls_last=True), "-entry")
        changed = set()
        for (version, *_), rows in groupby(strongest.values_list(*group, "entry", "represents"), itemgetter(0, 1, 2)):
            first, *others = rows
            for number, same in ((len(others), [first]), (None, others)):
                if entries := [entry for *_, entry, stored in same if stored != number]:
                    EntryMetric.objects.filter(entry__in=entries).update(represents=number)
                    changed.add(version)
        for version in changed:
            board_changed(version, results=True)


def folded(listed: QuerySet[EntryMetric]) -> QuerySet[EntryMetric]:
    """Select the rows that represent a system's rows with the same inputs (:func:`represent`)."""
    return listed.filter(represents__isnull=False)


def partial_of(rows: Iterable[BoardRow], version: SuiteVersion, category: Category | None) -> QuerySet[EntryMetric]:
    """Select the re-measured rows with answers to some tasks whose reported rows are among ``rows``."""
    slugs = [row.key.removeprefix("r-") for row in rows if row.provenance == Provenance.REPORTED]
    again = board_metrics(version, category, Kind.RANKED).filter(answered__isnull=False)
    return again.filter(entry__reported_run__remeasures__slug__in=slugs).order_by("entry")


def with_partial(rows: Sequence[BoardRow], partial: Sequence[BoardRow]) -> list[BoardRow]:
    """Put each of ``partial`` below the row of the reported run whose answers were measured again."""
    return [each for row in rows for each in (row, *(one for one in partial if f"r-{one.remeasures}" == row.key))]
