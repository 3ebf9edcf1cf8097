"""What a board shows: published rows as plain typed values, read by the page and by ``manage.py board`` alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Count, Exists, IntegerField, OuterRef, Prefetch, Q, Subquery, Value
from django.db.models.functions import Coalesce

from benchmark_tasks.models import Category
from leaderboard.enums import FINAL, RaterAxis
from leaderboard.models import Entry, EntryMetric
from reviews.cases.flags import raised_flags
from reviews.enums import FinalSource
from submissions.enums import Inputs, Kind, Source, SubmissionState, Visibility
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite, SuiteVersion

NONE: Final = "none"
"""What a bundle writes as backbone or scaffold where it has none."""

SORT_KEYS: Final = ("tests", "judge", "human", "final", "system", "date")
DEFAULT_SORT: Final = "-tests"

_SOURCES_TOLD: Final = {
    FinalSource.DECISION.value: "{} decided",
    FinalSource.AGREED.value: "{} by two annotators",
    FinalSource.SINGLE.value: "{} by one annotator",
    FinalSource.JUDGE.value: "{} by the judge alone",
}


@dataclass(frozen=True, slots=True)
class TestsCell:
    """Unit tests of one row: percentages from 0 to 100. ``passed`` is fractional where there are several trials."""

    __test__ = False

    percent: float
    low: float | None
    high: float | None
    passed: float
    tasks: int


@dataclass(frozen=True, slots=True)
class LabelsCell:
    """One rater's labels: percentages of ``tasks``, and how many tasks the rater labelled or abstained from.

    Counts are fractional where there are several trials. ``judge`` and ``judge_slug`` name the judge that this site
    asked; they are empty for annotators and for what others reported. ``sources`` of final labels are (whose, how
    many).
    """

    cc: float
    lc: float
    li: float
    labelled: float
    abstained: float
    tasks: int
    judge: str = ""
    judge_slug: str = ""
    sources: tuple[tuple[str, float], ...] = ()

    @property
    def by_annotators(self) -> bool:
        """Whether some of these final labels come from annotators."""
        return any(number and source != FinalSource.JUDGE for source, number in self.sources)

    @property
    def sources_text(self) -> str:
        """Whose the final labels are: ``3 decided, 10 by two annotators, 5 by the judge alone``."""
        told = (_SOURCES_TOLD[source].format(f"{round(number, 1):g}") for source, number in self.sources if number)
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One row. A rater that published nothing is None, shown as a dash, never as zero.

    ``reported`` rows come from others and were not re-run here; the answers of ``asked_here`` rows were asked from the
    model by this site; ``address`` is the page of the run. ``final`` labels are the judge's where nobody has reviewed.
    ``flagged`` names the tasks in these numbers whose test or golden function a decision found bad.
    """

    system: str
    system_slug: str
    backbone: str
    scaffold: str
    organisation: str
    inputs: str
    inputs_text: str
    reported: bool
    calibration: bool
    address: str
    tests: TestsCell | None
    judge: LabelsCell | None
    human: LabelsCell | None
    unpublished: int
    date: datetime | None
    remarks: tuple[str, ...]
    left_out: tuple[dict[str, str], ...] = ()
    asked_here: bool = False
    final: LabelsCell | None = None
    flagged: tuple[str, ...] = ()

    @property
    def provenance(self) -> str:
        """Who measured this, in the words that every page uses."""
        if self.reported:
            return "reported upstream, not re-run here"
        return "run and evaluated by this site" if self.asked_here else "self-declared bundle, evaluated here"

    @property
    def facts(self) -> str:
        """Backbone, agent and organisation in one line, as far as there are any."""
        return system_facts(self.backbone, self.scaffold, self.organisation)

    @property
    def tests_remarks(self) -> tuple[str, ...]:
        """The remarks about unit tests."""
        return self._remarks_on(RaterAxis.TESTS)

    @property
    def judge_remarks(self) -> tuple[str, ...]:
        """The remarks about the judge."""
        return self._remarks_on(RaterAxis.JUDGE)

    @property
    def human_remarks(self) -> tuple[str, ...]:
        """The remarks about the annotators."""
        return self._remarks_on(RaterAxis.HUMAN)

    def _remarks_on(self, axis: RaterAxis) -> tuple[str, ...]:
        return tuple(remark for remark in self.remarks if remark.startswith(axis.remark_prefix))


def visible_entries() -> QuerySet[Entry]:
    """Entries that everybody may see.

    The submission's own visibility is asked as well as the entry's flag: the flag is recomputed by a job, and what
    was hidden or withdrawn a moment ago must not wait for it.
    """
    shown = Q(reported_run__isnull=False) | Q(
        submission__visibility=Visibility.PUBLISHED, submission__state=SubmissionState.SCORED
    )
    return Entry.objects.filter(shown, published=True)


def board_rows(
    entries: QuerySet[Entry], *, category: Category | None = None, sort: str = DEFAULT_SORT
) -> list[BoardRow]:
    """Ranked and calibration rows of one suite version, with the numbers of a category (None: overall), sorted.

    The number of queries is constant.
    """
    flags = raised_flags().filter(revision__suite_versions=OuterRef("suite_version"))
    metrics = EntryMetric.objects.filter(category=category)
    selected = (
        entries.select_related("system", "submission", "reported_run")
        .prefetch_related(Prefetch("metrics", queryset=metrics, to_attr="shown_metrics"))
        .annotate(unpublished=unpublished_count(OuterRef("system"), OuterRef("suite_version__suite")))
        .annotate(on_flagged=Exists(flags))
    )
    # Hardly ever is a task flagged: the names are asked for only then.
    doubted = next((entry.suite_version_id for entry in selected if entry.on_flagged), None)
    flagged = flagged_tasks(doubted, category) if doubted else set()
    rows = [
        board_row(
            entry,
            next(iter(entry.shown_metrics), None),
            entry.unpublished,
            flagged=flagged if entry.submission else (),
        )
        for entry in selected
    ]
    return sorted_rows(rows, sort)


def flagged_tasks(version: int, category: Category | None) -> set[str]:
    """The tasks of a suite version (in one category) that are flagged, by name. One query."""
    flags = raised_flags().filter(revision__suite_versions=version)
    if category is not None:
        flags = flags.filter(revision__category=category)
    return set(flags.values_list("revision__task__slug", flat=True))


def unpublished_count(system: OuterRef, suite: OuterRef) -> Coalesce:
    """How many ranked submissions of a system on a suite exist that are not on the board.

    Cancelled ones measured nothing and do not count.
    """
    counted = (
        Submission.objects.filter(system=system, suite_version__suite=suite, kind=Kind.RANKED)
        .exclude(visibility=Visibility.PUBLISHED)
        .exclude(state=SubmissionState.CANCELLED)
        .order_by()
        .values("system")
        .annotate(number=Count("pk"))
        .values("number")
    )
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


def system_facts(backbone: str, scaffold: str, organisation: str) -> str:
    """A system in one line. Samples are made by no model: of those nothing is said but who made them."""
    parts = []
    if backbone != NONE:
        parts.append(f"{backbone} in {scaffold}" if scaffold not in {"", NONE} else f"{backbone}, no agent")
    elif scaffold not in {"", NONE}:
        parts.append(scaffold)
    return " · ".join([*parts, *([organisation] if organisation else [])])


def titles_told_apart(suites: Iterable[Suite]) -> list[tuple[Suite, str]]:
    """Suites with their titles; where a title occurs twice, its slug stands beside it."""
    listed = list(suites)
    times = Counter(suite.title for suite in listed)
    return [(suite, suite.title if times[suite.title] == 1 else f"{suite.title} ({suite.slug})") for suite in listed]


def categories_of(version: SuiteVersion) -> list[Category]:
    """The categories in which a suite version has tasks, in the paper's order."""
    revisions = version.revisions.filter(category=OuterRef("pk"))
    return list(Category.objects.filter(Exists(revisions)))


def sorted_rows(rows: Iterable[BoardRow], sort: str) -> list[BoardRow]:
    """Rows by one of :data:`SORT_KEYS`; rows without a value come last in either direction, ties by name."""
    key = sort.removeprefix("-")
    value = _SORT_VALUES[key]
    by_name = sorted(rows, key=lambda row: (row.system.casefold(), row.address))
    with_value = sorted((row for row in by_name if value(row) is not None), key=value, reverse=sort.startswith("-"))
    return with_value + [row for row in by_name if value(row) is None]


_SORT_VALUES: Final[Mapping[str, Callable[[BoardRow], Any]]] = {
    "tests": lambda row: row.tests and row.tests.percent,
    "judge": lambda row: row.judge and (row.judge.cc, row.judge.lc),
    "human": lambda row: row.human and (row.human.cc, row.human.lc),
    "final": lambda row: row.final and (row.final.cc, row.final.lc),
    "system": lambda row: row.system.casefold(),
    "date": lambda row: row.date,
}


def board_row(entry: Entry, metric: EntryMetric | None, unpublished: int, *, flagged: Iterable[str] = ()) -> BoardRow:
    """One entry with the numbers of ``metric``; a missing metric leaves every rater None."""
    return BoardRow(
        system=entry.system.name,
        system_slug=entry.system.slug,
        backbone=entry.system.backbone,
        scaffold="" if entry.system.scaffold == NONE else entry.system.scaffold,
        organisation=entry.system.organisation,
        inputs=entry.inputs,
        inputs_text=Inputs(entry.inputs).label,
        reported=entry.reported_run is not None,
        calibration=entry.kind == Kind.CALIBRATION,
        address=entry.get_absolute_url(),
        tests=tests_cell(metric),
        judge=labels_cell(metric, RaterAxis.JUDGE),
        human=labels_cell(metric, RaterAxis.HUMAN),
        unpublished=unpublished,
        date=entry.submission.published_at or entry.submission.scored_at if entry.submission else None,
        remarks=tuple(entry.reported_run.remarks) if entry.reported_run else (),
        left_out=tuple(entry.left_out),
        asked_here=entry.submission is not None and entry.submission.source == Source.ENDPOINT,
        final=final_cell(metric) if entry.submission else None,
        flagged=tuple(sorted(set(flagged) - {each["task"] for each in entry.left_out})),
    )


def tests_cell(metric: EntryMetric | None) -> TestsCell | None:
    """The unit tests of a metric; None when nobody ran or reported any."""
    if metric is None or metric.tests_rate is None:
        return None
    return TestsCell(
        percent=100 * metric.tests_rate,
        low=None if metric.tests_low is None else 100 * metric.tests_low,
        high=None if metric.tests_high is None else 100 * metric.tests_high,
        passed=metric.tests_passed if metric.tests_passed is not None else metric.tests_rate * metric.tasks,
        tasks=metric.tasks,
    )


def final_cell(metric: EntryMetric | None) -> LabelsCell | None:
    """The final labels of a row measured here; the judge's, where no person has reviewed anything."""
    judged = labels_cell(metric, RaterAxis.JUDGE)
    alone = judged and replace(judged, abstained=0, sources=((FinalSource.JUDGE.value, judged.labelled),))
    return labels_cell(metric, FINAL) or alone


def labels_cell(metric: EntryMetric | None, rater: str) -> LabelsCell | None:
    """The labels of one rater (or :data:`FINAL`) in a metric; None when that rater said nothing."""
    said = metric.said(rater) if metric else None
    if metric is None or said is None:
        return None
    judge, sources = said.get("by"), said.get("sources", {})
    return LabelsCell(
        cc=said["percent"]["CC"],
        lc=said["percent"]["LC"],
        li=said["percent"]["LI"],
        labelled=said["CC"] + said["LC"] + said["LI"],
        abstained=said["abstained"],
        tasks=metric.tasks,
        judge=judge["name"] if judge else "",
        judge_slug=judge["slug"] if judge else "",
        # PostgreSQL keeps no order of an object's keys.
        sources=tuple((source.value, sources[source.value]) for source in FinalSource if source.value in sources),
    )
