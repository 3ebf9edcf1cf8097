"""Read the public results on a suite version for the analysis."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from django.db.models import BooleanField, Count, ExpressionWrapper, FilteredRelation, Max, Q, Sum

from benchmark_tasks.models import Category
from leaderboard.board.blocks import counted_with_reported
from leaderboard.board.rows import complete, visible_entries
from leaderboard.models import AnalysisReport, EntryMetric, ReportedAggregate
from leaderboard.models.enums import Provenance, RaterAxis
from submissions.enums import Inputs, Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date, datetime
    from typing import Any

    from django.db.models import QuerySet

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.board.blocks import Rows
    from leaderboard.models import Entry
    from leaderboard.models.board import RaterLabels


METHOD: Final = 2
"""Increase it when a computation changes: the sweep then has every report recomputed."""
_CLOSED: Final = "this counts every published answer, so it is hidden until you lock your label"


class CategoryTasks(NamedTuple):
    """A category with a suite version's numbers of tasks and papers in it."""

    pk: int
    title: str
    definition: str
    tasks: int
    papers: int


class ScoreRow(NamedTuple):
    """One published run, with its overall numbers in percent; None without results of a rater.

    ``judge`` and ``human`` are the percentages of CC, LC and LI, read only for shown rows; ``labelled`` is true if
    there are any. ``submission`` is None for a reported run, ``run`` is empty for a submission. ``cost`` is in US
    dollars for all tasks once, ``cutoff`` the last month of the model's training data, empty if no source states it.
    """

    entry: int
    submission: int | None
    run: str
    provenance: Provenance
    system: str
    backbone: str
    inputs: str
    day: date | None
    cost: float | None
    cutoff: str
    tasks: int
    passed: float | None
    tests: float | None
    low: float | None
    high: float | None
    labelled: bool
    judge: tuple[float, float, float] | None = None
    human: tuple[float, float, float] | None = None

    @property
    def reported(self) -> bool:
        """Whether others reported these numbers; otherwise they were measured with this site's evaluator."""
        return self.provenance == Provenance.REPORTED


class Report(NamedTuple):
    """A report that a job computed: ``data`` is None if there is nothing to show, for the reason ``missing``.

    ``note`` is when it was computed, and whether its inputs have changed since.
    """

    data: Mapping[str, Any] | None
    missing: str
    note: str = ""


@dataclass
class SuiteResults:
    """The results on a suite version, each part read on first use.

    ``most`` limits the rows of long tables (None: all). The submissions ``hidden`` from the viewer are left out.
    """

    version: SuiteVersion
    most: int | None = None
    hidden: frozenset[int] = frozenset()

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """Every ranked row without its labels, the highest pass rate first, rows without tests last.

        Two queries; another two for each block of submissions whose rows are not kept (``board.blocks``).
        """
        public = visible_entries().filter(suite_version=self.version, kind=Kind.RANKED)
        rows = cast("list[ScoreRow]", counted_with_reported(public, _score_rows, "scores", hidden=self.hidden))
        return sorted(rows, key=lambda row: (row.tests is None, -(row.tests or 0), row.system, row.entry))

    def with_labels(self, rows: Sequence[ScoreRow]) -> list[ScoreRow]:
        """Add judge's and annotators' labels to ``rows``. One query, for shown rows only: there may be thousands."""
        overall = EntryMetric.objects.filter(category__isnull=True, entry__in=self._entries(rows)).order_by()
        labels = dict(overall.values_list("entry", "labels"))
        return [
            row._replace(
                judge=_percentages(labels.get(row.entry), RaterAxis.JUDGE),
                human=_percentages(labels.get(row.entry), RaterAxis.HUMAN),
            )
            for row in rows
        ]

    def _entries(self, rows: Sequence[ScoreRow]) -> QuerySet[Entry] | list[int]:
        """Return the ids of a page's rows; for all rows a subquery, since databases limit the values of a query."""
        return ranked_entries(self.version, self.hidden) if self.most is None else [row.entry for row in rows]

    @cached_property
    def categories(self) -> list[CategoryTasks]:
        """The categories in which the version has tasks, in the paper's order. One query."""
        here = Q(revisions__suite_versions=self.version)
        counted = Category.objects.filter(here).annotate(
            tasks=Count("revisions", distinct=True, filter=here),
            papers=Count("revisions__task__paper", distinct=True, filter=here),
        )
        return [
            CategoryTasks(*values)
            for values in counted.order_by("position").values_list("pk", "title", "definition", "tasks", "papers")
        ]

    def by_category(self, rows: Sequence[ScoreRow]) -> dict[int, dict[int, tuple[float, int]]]:
        """Map entry -> category -> (passed tasks, all tasks). One query."""
        found: dict[int, dict[int, tuple[float, int]]] = defaultdict(dict)
        metrics = EntryMetric.objects.filter(category__isnull=False, tests_passed__isnull=False)
        values = metrics.filter(entry__in=self._entries(rows)).order_by()
        for entry, category, passed, tasks in values.values_list("entry", "category", "tests_passed", "tasks"):
            found[entry][category] = (passed or 0.0, tasks)
        return found

    @cached_property
    def passed_in_categories(self) -> dict[int, tuple[float, int]]:
        """Category -> (passed tasks, all tasks), over all runs with full inputs and results by task.

        Queries as for the rows.
        """
        public = visible_entries().filter(suite_version=self.version, kind=Kind.RANKED, inputs=Inputs.FULL)
        found = counted_with_reported(public, _passes, "passes in categories", hidden=self.hidden)
        summed: dict[int, tuple[float, int]] = {}
        for category, passed, tasks in found:
            before = summed.get(category, (0.0, 0))
            summed[category] = (before[0] + passed, before[1] + tasks)
        return summed

    @cached_property
    def printed(self) -> dict[str, dict[str, float]]:
        """Reported run -> measure -> the percentage printed in the paper. One query."""
        found: dict[str, dict[str, float]] = defaultdict(dict)
        totals = ReportedAggregate.objects.filter(run__entry__in=ranked_entries(self.version), printed__isnull=False)
        for run, measure, printed in totals.order_by("run", "pk").values_list("run__slug", "measure", "printed"):
            found[run][measure] = float(printed or 0)
        return found

    @cached_property
    def report(self) -> Report:
        """The newest computed report; withheld if it counts something that the viewer may not see."""
        if self.hidden:
            return Report(None, _CLOSED)
        stored = AnalysisReport.objects.filter(suite_version=self.version).first()
        visible = set(visible_entries().filter(suite_version=self.version).values_list("pk", flat=True))
        if not visible:
            return Report(None, "nothing is published on this version yet")
        if stored is None or not visible.issuperset(stored.entries):
            return Report(None, "a worker computes this; it takes a minute, or longer while tests wait")
        when = f"Computed {stored.computed:%Y-%m-%d %H:%M} UTC"
        stale = stored.digest != inputs_digest(self.version)
        note = f"{when}, before the newest change of the data; a worker will recompute it." if stale else f"{when}."
        return Report(stored.data, "", note)


def ranked_entries(version: SuiteVersion, hidden: Collection[int] = ()) -> QuerySet[Entry]:
    """Select the complete public rows of a version's board, without samples and the submissions ``hidden``."""
    return complete(visible_entries(hidden).filter(suite_version=version, kind=Kind.RANKED))


def _score_rows(entries: QuerySet[Entry]) -> tuple[ScoreRow, ...]:
    """Read the complete ones among ``entries``."""
    overall = FilteredRelation("metrics", condition=Q(metrics__category__isnull=True))
    labelled = ExpressionWrapper(~Q(overall__labels={}), output_field=BooleanField())
    found = complete(entries).annotate(overall=overall, labelled=labelled).order_by()
    values = found.values_list(
        *("pk", "submission_id", "reported_run__slug", "provenance", "system__name", "system__backbone"),
        *("inputs", "date", "cost", "system__knowledge_cutoff"),
        *("overall__tasks", "overall__tests_passed", "overall__tests_rate"),
        *("overall__tests_low", "overall__tests_high", "labelled"),
    )
    return tuple(_row(*each) for each in values)


def _passes(entries: QuerySet[Entry]) -> Rows:
    """Count (category, passed tasks, all tasks) of the complete ones among ``entries``."""
    metrics = EntryMetric.objects.filter(
        category__isnull=False, tests_passed__isnull=False, entry__in=complete(entries).order_by().values("pk")
    )
    summed = metrics.order_by().values("category").annotate(passed=Sum("tests_passed"), of=Sum("tasks"))
    return tuple(summed.values_list("category", "passed", "of"))


def inputs_digest(version: SuiteVersion) -> str:
    """Return a digest of a report's inputs: rows, the times they were counted, and repository metrics.

    Cheap: two queries. A row is recounted when one of its runs, labels or decisions changes.
    """
    state = visible_entries().filter(suite_version=version).aggregate(Count("pk"), Sum("pk"), Max("computed"))
    metrics = list(version.revisions.order_by("pk").values_list("pk", "repository_metrics"))
    text = json.dumps([METHOD, state, metrics], default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _row(
    entry: int,
    submission: int | None,
    run: str | None,
    provenance: str,
    system: str,
    backbone: str,
    inputs: str,
    day: datetime | None,
    cost: float | None,
    cutoff: str,
    tasks: int | None,
    passed: float | None,
    rate: float | None,
    low: float | None,
    high: float | None,
    labelled: bool | None,
) -> ScoreRow:
    return ScoreRow(
        entry=entry,
        submission=submission,
        run=run or "",
        provenance=Provenance(provenance),
        system=system,
        backbone=backbone,
        inputs=Inputs(inputs).label,
        day=day.date() if day else None,
        cost=cost,
        cutoff=cutoff,
        tasks=tasks or 0,
        passed=passed,
        tests=_percent(rate),
        low=_percent(low),
        high=_percent(high),
        labelled=bool(labelled),
    )


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate


def _percentages(labels: Mapping[str, RaterLabels] | None, rater: str) -> tuple[float, float, float] | None:
    stored = (labels or {}).get(rater)
    if stored is None:
        return None
    percent = stored["percent"]
    return percent["CC"], percent["LC"], percent["LI"]
