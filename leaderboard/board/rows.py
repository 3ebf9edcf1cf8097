"""What a board shows: published rows as plain typed values, read by the page and by ``manage.py board`` alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

from django.db.models import Count, OuterRef, Q

from leaderboard.models import Entry, EntryMetric
from leaderboard.models.board import Marks
from leaderboard.models.enums import FINAL, RaterAxis
from leaderboard.statistics.intervals import wilson
from reviews.cases.flags import raised_flags
from reviews.enums import FinalSource
from submissions.enums import Inputs, Kind, Source, SubmissionState, Visibility
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from django.db.models import QuerySet

    from benchmark_tasks.models import Category, SuiteVersion

NONE: Final = "none"
"""What a bundle writes as backbone or scaffold where it has none."""
LEAST_TASKS: Final = 6
"""Fewer tasks show no rank: even five wins to none are no evidence (exact McNemar .0625)."""
MOST_RANKED: Final = 500
"""Ranks compare each system with each other one; beyond the best so many they would take minutes."""

_ROW_FIELDS: Final = (
    *("category", "tasks", "tests_rate", "tests_passed", "tests_low", "tests_high", "rank_from", "rank_to", "labels"),
    "entry__kind",
    *("entry__inputs", "entry__left_out", "entry__marks", "entry__trial_passes", "entry__cost", "entry__tokens"),
    *("entry__date", "entry__system__name", "entry__system__slug", "entry__system__backbone"),
    *("entry__system__scaffold", "entry__system__organisation", "entry__reported_run__slug"),
    *("entry__system__weights", "entry__system__knowledge_cutoff"),
    *("entry__reported_run__remarks", "entry__submission__source", "entry__submission__trials"),
)
_INPUTS_WORDS: Final = {
    Inputs.FULL: "full",
    Inputs.PAPER_ONLY: "paper only",
    Inputs.PAPER_GOAL_FILE: "paper + goal file",
}
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

    @classmethod
    def counted(cls, passed: float, tasks: int) -> Self:
        """So many of so many (at least one), with Wilson's interval."""
        low, high = wilson(passed, tasks)
        return cls(100 * passed / tasks, 100 * low, 100 * high, passed, tasks)

    @property
    def few(self) -> bool:
        """Whether they are too few tasks for a percentage, or a rank."""
        return self.tasks < LEAST_TASKS


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
    ``flagged`` names the tasks in these numbers whose test or golden function a decision found bad. ``rank`` is the
    first and the last rank that resampling cannot exclude, ``cost`` (US $) and ``tokens`` are of all tasks once,
    ``marks`` what each rater says of each task, ``trial_passes`` how many tasks each trial passes (of
    the whole board only).
    ``closed`` rows have no numbers, since the viewer is labelling one of the answers. ``metric`` is the number of its
    ``EntryMetric``; what ``kept_rows`` returns has a ``stamp``.
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
    submission: int | None
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
    rank: tuple[int, int] | None = None
    cost: float | None = None
    tokens: int | None = None
    trials: int = 1
    trial_passes: tuple[int, ...] = ()
    closed: bool = False
    marks: Marks = field(default_factory=lambda: Marks(), compare=False)
    weights: str = ""
    knowledge_cutoff: str = ""
    metric: int = field(default=0, compare=False)
    stamp: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """The row's name in addresses: ``s12`` for submission 12, else ``r-`` and the slug of the reported run."""
        return f"r-{self.address.rstrip('/').rpartition('/')[2]}" if self.reported else f"s{self.submission}"

    @property
    def not_counted(self) -> tuple[dict[str, str], ...]:
        """Of a measured row the tasks that count nowhere, and why."""
        return () if self.reported else self.left_out

    @property
    def not_reported(self) -> tuple[dict[str, str], ...]:
        """Of a reported row the tasks that its publication does not have, and the words for that."""
        return self.left_out if self.reported else ()

    @property
    def spread(self) -> tuple[int, int] | None:
        """The fewest and the most tasks that one of several trials passes."""
        return (min(self.trial_passes), max(self.trial_passes)) if len(self.trial_passes) > 1 else None

    @property
    def pass_at_trials(self) -> float | None:
        """pass@k for as many trials as there are: per cent of the counted tasks that at least one of them passes."""
        shares = [share for share in self.marks.get("tests") or [] if share is not None]
        return 100 * sum(share > 0 for share in shares) / len(shares) if self.spread and shares else None

    @property
    def provenance(self) -> str:
        """Who measured this, in the words that every page uses."""
        if self.reported:
            return "reported upstream, not re-run here"
        return "run and evaluated by this site" if self.asked_here else "self-declared bundle, evaluated here"

    @property
    def title_with_inputs(self) -> str:
        """The system, and what it was given unless that was everything."""
        return title_with_inputs(self.system, self.inputs)

    @property
    def inputs_word(self) -> str:
        """What the system was given, short enough for a row."""
        return _INPUTS_WORDS[Inputs(self.inputs)]

    @property
    def source_word(self) -> str:
        """The same in one word."""
        if self.reported:
            return "reported"
        return "run here" if self.asked_here else "uploaded"

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


def is_visible(entry: str = "", *, hidden: Collection[int] = ()) -> Q:
    """What everybody may see, of entries, or of rows that lead to theirs by the lookup ``entry`` (``"entry__"``).

    The submissions ``hidden`` from one viewer (``leaderboard.board.visibility``) are left out.
    The submission's own visibility is asked as well as the entry's flag: the flag is recomputed by a job, and what
    was hidden or withdrawn a moment ago must not wait for it.
    """
    submission = {"visibility": Visibility.PUBLISHED, "state": SubmissionState.SCORED}
    measured = Q(**{f"{entry}submission__{name}": value for name, value in submission.items()})
    if hidden:
        measured &= ~Q(**{f"{entry}submission__in": hidden})
    return Q(**{f"{entry}published": True}) & (Q(**{f"{entry}reported_run__isnull": False}) | measured)


def visible_entries(hidden: Collection[int] = ()) -> QuerySet[Entry]:
    """Entries that everybody may see, without those of the submissions ``hidden`` from the viewer."""
    return Entry.objects.filter(is_visible(hidden=hidden))


def board_metrics(
    version: SuiteVersion | OuterRef, category: Category | None = None, kind: Kind | None = None
) -> QuerySet[EntryMetric]:
    """The rows of a board with their numbers in a category (None: overall), to be filtered, sorted and cut.

    Whatever reads more than their number goes through :func:`shown_metrics`.
    """
    kinds = [kind] if kind else list(Kind)
    return EntryMetric.objects.filter(suite_version=version, category=category, listed__in=kinds)


def shown_metrics(listed: QuerySet[EntryMetric]) -> QuerySet[EntryMetric]:
    """Some of :func:`board_metrics` in their order, without what was hidden or withdrawn a moment ago.

    They are found by one index first, so that a page reads its own rows of 100,000 and no more.
    """
    found = EntryMetric.objects.filter(is_visible("entry__"), pk__in=listed.values("pk"))
    return found.order_by(*listed.query.order_by)


def board_rows(listed: QuerySet[EntryMetric], version: SuiteVersion, category: Category | None) -> list[BoardRow]:
    """The rows of some of :func:`board_metrics` in their order, as everybody may see them. Three queries."""
    related = ("entry__system", "entry__submission", "entry__reported_run")
    metrics = list(shown_metrics(listed).select_related(*related).only(*_ROW_FIELDS))
    if not metrics:
        return []
    flagged = flagged_tasks(version.pk, category)
    unpublished = unpublished_of({each.entry.system_id for each in metrics})
    return [
        board_row(
            each.entry,
            each,
            unpublished.get((each.entry.system_id, version.suite_id), 0),
            flagged=flagged if each.entry.submission else (),
        )
        for each in metrics
    ]


def unpublished_of(systems: Collection[int]) -> dict[tuple[int, int], int]:
    """(System, suite) -> how many of its ranked submissions there are not on the board, if any. One query.

    Cancelled ones measured nothing and do not count.
    """
    counted = (
        Submission.objects.filter(system__in=systems, kind=Kind.RANKED)
        .exclude(visibility=Visibility.PUBLISHED)
        .exclude(state=SubmissionState.CANCELLED)
        .order_by()
        .values_list("system", "suite_version__suite")
        .annotate(number=Count("pk"))
    )
    return {(system, suite): number for system, suite, number in counted}


def flagged_tasks(version: int, category: Category | None) -> set[str]:
    """The tasks of a suite version (in one category) that are flagged, by name. One query."""
    flags = raised_flags().filter(revision__suite_versions=version)
    if category is not None:
        flags = flags.filter(revision__category=category)
    return set(flags.values_list("revision__task__slug", flat=True))


def title_with_inputs(system: str, inputs: str) -> str:
    """The system's name, and what it was given unless that was everything."""
    return system if inputs == Inputs.FULL else f"{system}, {_INPUTS_WORDS[Inputs(inputs)]}"


def system_facts(backbone: str, scaffold: str, organisation: str) -> str:
    """A system in one line. Samples are made by no model: of those nothing is said but who made them."""
    parts = []
    if backbone != NONE:
        parts.append(f"{backbone} in {scaffold}" if scaffold not in {"", NONE} else f"{backbone}, no agent")
    elif scaffold not in {"", NONE}:
        parts.append(scaffold)
    return " · ".join([*parts, *([organisation] if organisation else [])])


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
        submission=entry.submission_id,
        tests=tests_cell(metric),
        judge=labels_cell(metric, RaterAxis.JUDGE),
        human=labels_cell(metric, RaterAxis.HUMAN),
        unpublished=unpublished,
        date=entry.date,
        remarks=tuple(entry.reported_run.remarks) if entry.reported_run else (),
        left_out=tuple(entry.left_out),
        asked_here=entry.submission is not None and entry.submission.source == Source.ENDPOINT,
        final=final_cell(metric) if entry.submission else None,
        flagged=tuple(sorted(set(flagged) - {each["task"] for each in entry.left_out})),
        rank=(metric.rank_from, metric.rank_to) if metric and metric.rank_from and metric.rank_to else None,
        cost=entry.cost,
        tokens=entry.tokens,
        trials=entry.submission.trials if entry.submission else 1,
        # Of all its tasks, and so no number of a category.
        trial_passes=() if metric and metric.category_id else tuple(entry.trial_passes),
        marks=entry.marks,
        weights=entry.system.weights,
        knowledge_cutoff=entry.system.knowledge_cutoff,
        metric=metric.pk if metric else 0,
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
