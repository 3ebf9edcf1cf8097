"""Fold the rows of a system: one represents those with the same inputs, and re-measured rows follow reported ones."""

from __future__ import annotations

from collections import defaultdict
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


def represent(version: int, system: int) -> None:
    """Choose again which of a system's rows represent its others on a suite version.

    Of the rows with the same inputs it is the one with the strongest claim, and of equal claims the newest: results
    play no part. A row with answers to fewer than all counted tasks represents none; :func:`with_partial` shows it.
    Called after the change of a row is committed, so that the later of two concurrent calls sees both changes.
    """
    with transaction.atomic():
        entries = Entry.objects.select_for_update(no_key=True).filter(suite_version=version, system=system)
        list(entries.order_by("pk").values_list("pk"))
        found = EntryMetric.objects.filter(suite_version=version, entry__system=system, category=None, answered=None)
        strongest = found.order_by("strength", F("entry__date").desc(nulls_last=True), "-entry")
        groups: dict[tuple[str, str], list[tuple[int, int | None]]] = defaultdict(list)
        for entry, stored, listed, inputs in strongest.values_list("entry", "represents", "listed", "entry__inputs"):
            groups[listed, inputs].append((entry, stored))
        changes: dict[int | None, list[int]] = defaultdict(list)
        for same in groups.values():
            for place, (entry, stored) in enumerate(same):
                number = None if place else len(same) - 1
                if number != stored:
                    changes[number].append(entry)
        for number, changed in changes.items():
            EntryMetric.objects.filter(entry__in=changed).update(represents=number)
        if changes:
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
