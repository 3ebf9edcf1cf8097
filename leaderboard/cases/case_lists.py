"""The list of cases: what was decided here, newest first, then what others reported and did not agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, overload

from django.db.models import Exists, F, OuterRef, Prefetch, Q
from django.urls import reverse

from benchmark_tasks.models import TaskRevision
from evaluator.judging.labels import Label
from evaluator.models import TestRun
from evaluator.testing.shown_outcomes import Badge, badge_of, newest
from leaderboard.board.board import visible_entries
from leaderboard.cases.case_pages import public_cases
from leaderboard.models import ReportedResult
from reviews.cases.ratings import ratings_of
from reviews.enums import Role
from reviews.models import Review
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from django.db.models import QuerySet

    from reviews.models import Case

_REPORTED_TESTS: Final = {True: Badge("passed", "passed"), False: Badge("failed", "failed")}
_OWN_FILTERS: Final[Mapping[str, str]] = {
    "suite": "implementation__submission__suite_version__suite__slug",
    "category": "implementation__revision__category__slug",
    "source": "source",
}


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One row. ``humans`` are the blind labels; ``label`` is the final one, which reported cases do not have."""

    address: str
    task: str
    category: str
    system: str
    inputs: str
    tests: Badge | None
    judge: str
    humans: tuple[str, ...]
    label: str = ""
    by: str = ""
    reason: str = ""
    settled: datetime | None = None
    reported: bool = False


class CaseList(Sequence[CaseLine]):
    """Cases as ``filters`` ask (``what``, ``suite``, ``category``, ``reason``, ``source``), read when sliced.

    Those of ``closed`` answers are left out altogether: filters must not tell what a row would not. The number of
    queries for a slice does not depend on its length.
    """

    def __init__(self, filters: Mapping[str, str], *, closed: Collection[int]) -> None:
        own, reported = public_cases(), reported_disagreements()
        own = own.filter(**{path: filters[name] for name, path in _OWN_FILTERS.items() if filters[name]})
        if filters["reason"]:
            # A list's "contains" is PostgreSQL's only; its text, with the code in quotation marks, is everybody's.
            own = own.filter(decision__reasons__icontains=f'"{filters["reason"]}"')
        if filters["suite"]:
            reported = reported.filter(run__suite__slug=filters["suite"])
        if filters["category"]:
            reported = reported.filter(_in_category(filters["category"]))
        # Only what was decided here has a reason, or somebody who gave the final label.
        if filters["what"] == "own" or filters["reason"] or filters["source"]:
            reported = reported.none()
        if filters["what"] == "reported":
            own = own.none()
        self._own = own.exclude(implementation__in=closed).order_by("-settled", "-pk")
        self._reported = reported.order_by(
            "run__suite__position", "run__slug", "task__paper__folder_name", "task__index"
        )
        self._own_count = self._own.count()
        self._reported_count = self._reported.count()

    def __len__(self) -> int:
        return self._own_count + self._reported_count

    @overload
    def __getitem__(self, key: int) -> CaseLine: ...

    @overload
    def __getitem__(self, key: slice) -> list[CaseLine]: ...

    def __getitem__(self, key: int | slice) -> CaseLine | list[CaseLine]:
        if isinstance(key, int):
            return self[key : key + 1][0]
        start, stop, _ = key.indices(len(self))
        own = _own_lines(self._own[start:stop]) if start < self._own_count else []
        first = max(0, start - self._own_count)
        last = stop - self._own_count
        return own + (_reported_lines(self._reported[first:last]) if last > first else [])


def reported_disagreements() -> QuerySet[ReportedResult]:
    """Reported results in which judge and human differ, or the human contradicts the unit test."""
    shown = visible_entries().filter(reported_run__isnull=False).values("reported_run")
    labels_differ = ~Q(judge_label="") & ~Q(human_label="") & ~Q(judge_label=F("human_label"))
    contradiction = Q(tests_passed=True, human_label=Label.LI) | Q(tests_passed=False, human_label=Label.CC)
    return ReportedResult.objects.filter(labels_differ | contradiction, run__in=shown)


def _in_category(slug: str) -> Exists:
    revisions = TaskRevision.objects.filter(task=OuterRef("task"), category__slug=slug)
    return Exists(revisions.filter(suite_versions=OuterRef("run__entry__suite_version")))


def reported_address(run: str, paper: str, index: int) -> str:
    """The page of a reported result."""
    return reverse("reported_case", args=[run, paper, index])


def _own_lines(cases: QuerySet[Case]) -> list[CaseLine]:
    """Six queries at most."""
    blind = Review.objects.filter(role=Role.ANNOTATOR)
    listed = list(
        cases.select_related(
            "decision",
            "implementation__revision__task__paper",
            "implementation__revision__category",
            "implementation__submission__system",
            "implementation__submission__suite_version",
        )
        .defer(*(f"implementation__{name}" for name in ("files", "diff", "goal_source", "raw_answer", "set_aside")))
        .prefetch_related(Prefetch("reviews", blind, to_attr="blind"))
    )
    answers = [case.implementation_id for case in listed]
    tests, judges = _tests(answers), _judge_labels(answers)
    return [_own_line(case, tests.get(case.implementation_id), judges) for case in listed]


def _own_line(case: Case, tests: Badge | None, judges: Mapping[int, str]) -> CaseLine:
    revision, submission = case.implementation.revision, case.implementation.submission
    decision = getattr(case, "decision", None)
    return CaseLine(
        address=case.get_absolute_url(),
        task=revision.task.slug,
        category=revision.category.title if revision.category else "",
        system=submission.system.name,
        inputs=submission.get_inputs_display(),
        tests=tests,
        judge=judges.get(case.implementation_id, ""),
        humans=tuple(review.label for review in getattr(case, "blind", [])),
        label=case.label,
        by=case.get_source_display(),
        reason=decision.reason_names if decision else "",
        settled=case.settled,
    )


def _tests(answers: Iterable[int]) -> dict[int, Badge]:
    """Answer's id -> what the run that counts says. One query."""
    runs = TestRun.objects.current().filter(implementation__in=answers).order_by("pk").defer("cases", "log")
    each: dict[int, list[TestRun]] = {}
    for run in runs:
        each.setdefault(run.implementation_id, []).append(run)
    return {answer: badge_of(newest(listed)) for answer, listed in each.items()}


def _judge_labels(answers: Collection[int]) -> dict[int, str]:
    """Answer's id -> the label of the judge that disputes go by, or ``abstained``. Two queries."""
    ratings = ratings_of(answers)
    return {answer: rating.label or "abstained" for answer, rating in ratings.items() if rating.decided}


def _reported_lines(results: QuerySet[ReportedResult]) -> list[CaseLine]:
    """Two queries."""
    listed = list(results.select_related("run__system", "run__entry", "task__paper"))
    versions = {result.run.entry.suite_version_id for result in listed}
    rows = TaskRevision.objects.filter(suite_versions__in=versions, task__in={result.task_id for result in listed})
    categories = {
        (version, task): title or ""
        for version, task, title in rows.values_list("suite_versions", "task", "category__title")
    }
    return [
        CaseLine(
            address=reported_address(result.run.slug, result.task.paper.slug, result.task.index),
            task=result.task.slug,
            category=categories.get((result.run.entry.suite_version_id, result.task_id), ""),
            system=result.run.system.name,
            inputs=Inputs(result.run.inputs).label,
            tests=None if result.tests_passed is None else _REPORTED_TESTS[result.tests_passed],
            judge=result.judge_label,
            humans=(result.human_label,) if result.human_label else (),
            reported=True,
        )
        for result in listed
    ]
