"""Fold the rows of a system: one represents those with the same inputs, and re-measured rows follow reported ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Count, F, Q, Window
from django.db.models.functions import RowNumber

from leaderboard.board.rows import board_metrics
from leaderboard.models import EntryMetric
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


def folded(listed: QuerySet[EntryMetric]) -> QuerySet[EntryMetric]:
    """Select the rows that represent a system's rows with the same inputs.

    It is the row with the strongest claim, and of equal claims the newest: results play no part. A row with answers to
    fewer than all counted tasks represents none; :func:`with_partial` shows it.
    """
    # One pass over the versions' rows: a query for each row would take the square of their number.
    place = Window(
        RowNumber(),
        partition_by=[F(name) for name in ("suite_version", "listed", "entry__system", "entry__inputs")],
        order_by=[F("strength").asc(), F("entry__date").desc(nulls_last=True), F("entry").desc()],
    )
    versions = listed.order_by().values("suite_version").distinct()
    whole = EntryMetric.objects.filter(category=None, answered=None, suite_version__in=versions)
    first = whole.order_by().annotate(place=place).filter(place=1).values("entry")
    return listed.filter(answered=None, entry__in=first)


def partial_of(rows: Iterable[BoardRow], version: SuiteVersion, category: Category | None) -> QuerySet[EntryMetric]:
    """Select the re-measured rows with answers to some tasks whose reported rows are among ``rows``."""
    slugs = [row.key.removeprefix("r-") for row in rows if row.provenance == Provenance.REPORTED]
    again = board_metrics(version, category, Kind.RANKED).filter(answered__isnull=False)
    return again.filter(entry__reported_run__remeasures__slug__in=slugs).order_by("entry")


def with_partial(rows: Sequence[BoardRow], partial: Sequence[BoardRow]) -> list[BoardRow]:
    """Put each of ``partial`` below the row of the reported run whose answers were measured again."""
    return [each for row in rows for each in (row, *(one for one in partial if f"r-{one.remeasures}" == row.key))]


def with_numbers_of_folded(rows: Sequence[BoardRow], version: SuiteVersion) -> list[BoardRow]:
    """Add to each row how many others it represents. One query."""
    systems = Q(entry__system__slug__in={row.system_slug for row in rows})
    counted = board_metrics(version, None, Kind.RANKED).filter(systems, answered=None).order_by()
    groups = counted.values_list("entry__system__slug", "entry__inputs").annotate(number=Count("pk"))
    others = {(system, inputs): number - 1 for system, inputs, number in groups}
    return [
        row.model_copy(update={"folded": more, "stamp": row.stamp and f"{row.stamp} {more}"})
        if (more := others.get((row.system_slug, row.inputs), 0))
        else row
        for row in rows
    ]
