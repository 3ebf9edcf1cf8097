"""Who rated what: the labels of every rater on what a suite's board shows, item by item."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from django.urls import reverse

from benchmark_tasks.models import Category, SuiteVersion, TaskRevision
from evaluator.enums import RunState, WorkState
from evaluator.grading.types import Outcome
from evaluator.judging.labels import Label
from evaluator.models import JudgeConfig, Judgement, TestRun
from leaderboard.domain.agreement_people import read_reviews
from leaderboard.domain.board import visible_entries
from leaderboard.models import ReportedResult
from submissions.enums import Inputs, Kind
from submissions.models import Implementation, System

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from django.db.models import QuerySet

    from benchmark_tasks.models import Suite
    from leaderboard.models import Entry

REST: Final = "rest"
"""What a test run that did not pass says: something other than CC, but not which."""

JUDGE_PREFIX: Final = "judge:"


class RaterKind(StrEnum):
    """What a rater is."""

    HUMANS = "humans"
    TESTS = "tests"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Rater:
    """Somebody, or something, that labels answers. ``address`` is its page, empty where it has none."""

    slug: str
    name: str
    kind: RaterKind
    address: str = ""

    @property
    def binary_only(self) -> bool:
        """Whether it only tells CC from the rest."""
        return self.kind == RaterKind.TESTS


HUMANS: Final = Rater("humans", "Annotators, first label", RaterKind.HUMANS)
HUMANS_SECOND: Final = Rater("humans-second", "Annotators, second label", RaterKind.HUMANS)
DECISION: Final = Rater("decision", "Decisions", RaterKind.HUMANS)
REPORTED_HUMANS: Final = Rater("reported-humans", "Reported humans", RaterKind.HUMANS)
REPORTED_TESTS: Final = Rater("reported-tests", "Reported unit tests", RaterKind.TESTS)
TESTS: Final = Rater("tests", "Unit tests", RaterKind.TESTS)
REPORTED_JUDGE: Final = Rater("reported-judge", "Reported judge", RaterKind.JUDGE)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which items count: those of one category, system or kind of inputs (slugs, empty: all).

    ``samples`` asks for calibration samples instead of ranked answers; the two are never mixed.
    """

    category: str = ""
    system: str = ""
    inputs: str = ""
    samples: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One rated answer: of a submission (``submission`` is its number) or of a reported run (``run`` is its slug).

    ``paper`` is the cluster; ``trial`` is 0 where each task was tried once, ``case`` the number of its settled case.
    """

    key: str
    paper: str
    index: int
    task: str
    system: str
    inputs: str
    trial: int = 0
    run: str = ""
    submission: int = 0
    case: int = 0

    @property
    def address(self) -> str:
        """The page that shows the answer, or what was reported of it."""
        if self.run:
            return reverse("reported_case", args=[self.run, self.paper, self.index])
        return reverse("implementation", args=[self.submission, self.paper, self.index, self.trial or 1])

    @property
    def case_address(self) -> str:
        """The page of its settled case; empty where it has none."""
        return reverse("case", args=[self.case]) if self.case else ""

    @property
    def inputs_text(self) -> str:
        """What the system was given, in words."""
        return Inputs(self.inputs).label


@dataclass(frozen=True, slots=True)
class Ratings:
    """Every label: rater's slug -> item's key -> label, :data:`REST` or ``""`` for an abstention.

    ``people`` has each annotator's labels (annotator's number -> item's key -> label), ``truth`` the final labels that
    people settled. ``reviewable`` are the items that the random audit draws from, ``audited`` those that it drew, with
    the probability of that.
    """

    raters: tuple[Rater, ...]
    items: dict[str, Item]
    labels: dict[str, dict[str, str]]
    people: dict[str, dict[str, str]] = field(default_factory=dict)
    truth: dict[str, str] = field(default_factory=dict)
    reviewable: frozenset[str] = frozenset()
    audited: dict[str, float] = field(default_factory=dict)


def raters() -> tuple[Rater, ...]:
    """Every rater that there is, people first, then tests, then judges: rows come before columns. One query."""
    judges = (
        Rater(f"{JUDGE_PREFIX}{config.slug}", config.name, RaterKind.JUDGE, config.get_absolute_url())
        for config in JudgeConfig.objects.only("slug", "name").order_by("created", "pk")
    )
    return (REPORTED_HUMANS, DECISION, HUMANS, HUMANS_SECOND, REPORTED_TESTS, TESTS, REPORTED_JUDGE, *judges)


def shown_systems(suite: Suite) -> list[System]:
    """The systems with something published on a suite, by name. No other name may become known here. One query."""
    shown = visible_entries().filter(suite_version__suite=suite).values("system")
    return list(System.objects.filter(pk__in=shown).order_by("name", "pk"))


def suite_categories(suite: Suite) -> list[Category]:
    """The categories in which any version of a suite has tasks, in the paper's order. One query."""
    versions = SuiteVersion.objects.filter(suite=suite)
    return list(Category.objects.filter(revisions__suite_versions__in=versions).distinct().order_by("position"))


def load_ratings(*, suite: Suite, scope: Scope) -> Ratings:
    """All labels on what everybody may see of a suite. The number of queries is constant.

    Test outcomes count as on the board: those of tasks that a row leaves out say nothing. Nothing of a submission that
    is not published is read.
    """
    entries = list(_entries(suite, scope).select_related("system", "submission", "reported_run"))
    items: dict[str, Item] = {}
    labels: dict[str, dict[str, str]] = defaultdict(dict)
    _add_reported(entries, scope, items, labels)
    answers = _add_answers([entry for entry in entries if entry.submission_id], scope, items)
    left_out = {entry.submission_id: {each["task"] for each in entry.left_out} for entry in entries}
    counted = {pk for pk, item in answers.items() if item.task not in left_out[item.submission]}
    _add_tests(entries, counted, labels)
    _add_judgements(entries, answers.keys(), labels)
    said = read_reviews(_numbers(entries), answers.keys())
    for rater, given in ((HUMANS, said.first), (HUMANS_SECOND, said.second), (DECISION, said.decisions)):
        if given:
            labels[rater.slug] = _by_key(given)
    for answer, case in said.cases.items():
        items[_answer_key(answer)] = replace(answers[answer], case=case)
    return Ratings(
        raters=raters(),
        items=items,
        labels=dict(labels),
        people={str(person): _by_key(given) for person, given in said.people.items()},
        truth=_by_key(said.truth),
        reviewable=frozenset(_answer_key(answer) for answer in said.reviewable),
        audited={_answer_key(answer): probability for answer, probability in said.audited.items()},
    )


def _by_key(labels: Mapping[int, str]) -> dict[str, str]:
    return {_answer_key(answer): label for answer, label in labels.items()}


def _entries(suite: Suite, scope: Scope) -> QuerySet[Entry]:
    kind = Kind.CALIBRATION if scope.samples else Kind.RANKED
    entries = visible_entries().filter(suite_version__suite=suite, kind=kind).order_by("pk")
    if scope.system:
        entries = entries.filter(system__slug=scope.system)
    if scope.inputs:
        entries = entries.filter(inputs=scope.inputs)
    return entries


def _add_reported(
    entries: Iterable[Entry], scope: Scope, items: dict[str, Item], labels: dict[str, dict[str, str]]
) -> None:
    """What was reported per task. A task's category is that of its revision in the version that the run is shown on."""
    by_run = {entry.reported_run_id: entry for entry in entries if entry.reported_run_id}
    results = ReportedResult.objects.filter(run__in=by_run).select_related("task__paper").order_by("run", "task")
    if scope.category:
        revisions = TaskRevision.objects.filter(
            suite_versions__in={entry.suite_version_id for entry in by_run.values()}, category__slug=scope.category
        )
        inside = set(revisions.values_list("suite_versions", "task"))
        results_shown = [row for row in results if (by_run[row.run_id].suite_version_id, row.task_id) in inside]
    else:
        results_shown = list(results)
    for row in results_shown:
        entry = by_run[row.run_id]
        assert entry.reported_run is not None  # noqa: S101 - chosen above, for the type checker
        item = Item(
            key=f"reported:{entry.reported_run.slug}:{row.task.slug}",
            paper=row.task.paper.slug,
            index=row.task.index,
            task=row.task.slug,
            system=entry.system.name,
            inputs=entry.inputs,
            run=entry.reported_run.slug,
        )
        items[item.key] = item
        if row.tests_passed is not None:
            labels[REPORTED_TESTS.slug][item.key] = Label.CC.value if row.tests_passed else REST
        for rater, label in ((REPORTED_JUDGE, row.judge_label), (REPORTED_HUMANS, row.human_label)):
            if label:
                labels[rater.slug][item.key] = label


def _add_answers(entries: Iterable[Entry], scope: Scope, items: dict[str, Item]) -> dict[int, Item]:
    """The answers of published submissions, by their number."""
    by_submission = {entry.submission_id: entry for entry in entries}
    answers = Implementation.objects.filter(submission__in=by_submission)
    if scope.category:
        answers = answers.filter(revision__category__slug=scope.category)
    found: dict[int, Item] = {}
    for pk, submission, trial, paper, index, task in answers.order_by(
        "submission_id", "revision__task__paper__folder_name", "revision__task__index", "trial"
    ).values_list(
        *("pk", "submission_id", "trial"),
        *("revision__task__paper__slug", "revision__task__index", "revision__task__slug"),
    ):
        entry = by_submission[submission]
        assert entry.submission is not None  # noqa: S101 - chosen by the caller, for the type checker
        item = Item(
            key=_answer_key(pk),
            paper=paper,
            index=index,
            task=task,
            system=entry.system.name,
            inputs=entry.inputs,
            trial=trial if entry.submission.trials > 1 else 0,
            submission=submission,
        )
        found[pk] = items[item.key] = item
    return found


def _add_tests(entries: Iterable[Entry], answers: Collection[int], labels: dict[str, dict[str, str]]) -> None:
    """What the newest run of each answer's tests says. A fault of ours says nothing."""
    runs = (
        TestRun.objects.current()
        .filter(implementation__submission__entry__in=_numbers(entries), state=RunState.DONE)
        .exclude(outcome=Outcome.INFRA.value)
        .order_by("pk")
    )
    for answer, outcome in runs.values_list("implementation_id", "outcome"):
        if answer in answers:
            labels[TESTS.slug][_answer_key(answer)] = Label.CC.value if outcome == Outcome.PASSED.value else REST


def _add_judgements(entries: Iterable[Entry], answers: Collection[int], labels: dict[str, dict[str, str]]) -> None:
    rows = Judgement.objects.filter(implementation__submission__entry__in=_numbers(entries), state=WorkState.DONE)
    for judge, answer, label, abstained in rows.values_list("config__slug", "implementation_id", "label", "abstained"):
        if answer in answers:
            labels[f"{JUDGE_PREFIX}{judge}"][_answer_key(answer)] = "" if abstained else label


def _numbers(entries: Iterable[Entry]) -> list[int]:
    return [entry.pk for entry in entries if entry.submission_id]


def _answer_key(answer: int) -> str:
    return f"answer:{answer}"
