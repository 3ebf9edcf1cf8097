"""The list of cases: what was decided here, newest first, then what others reported and did not agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, overload

from django.db.models import Prefetch
from django.urls import reverse

from benchmark_tasks.models import TaskRevision
from evaluator.models import TestRun
from evaluator.testing.shown_outcomes import Badge, badge_of, newest
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


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One row. ``annotators`` are the blind labels; ``label`` is the final one, which reported cases do not have."""

    address: str
    task: str
    category: str
    system: str
    inputs: str
    tests: Badge | None
    judge: str
    annotators: tuple[str, ...]
    label: str = ""
    by: str = ""
    reason: str = ""
    closed: datetime | None = None
    reported: bool = False


class CaseList(Sequence[CaseLine]):
    """Cases of this site, newest first, then ``reported`` disagreements, read when sliced.

    The number of queries for a slice does not depend on its length.
    """

    def __init__(self, own: QuerySet[Case], reported: QuerySet[ReportedResult]) -> None:
        self._own = own.order_by("-closed", "-pk")
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
        annotators=tuple(review.label for review in getattr(case, "blind", [])),
        label=case.label,
        by=case.get_source_display(),
        reason=decision.reason_names if decision else "",
        closed=case.closed,
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
            address=reverse("reported_case", args=[result.run.slug, result.task.paper.slug, result.task.index]),
            task=result.task.slug,
            category=categories.get((result.run.entry.suite_version_id, result.task_id), ""),
            system=result.run.system.name,
            inputs=Inputs(result.run.inputs).label,
            tests=None if result.tests_passed is None else _REPORTED_TESTS[result.tests_passed],
            judge=result.judge_label,
            annotators=(result.human_label,) if result.human_label else (),
            reported=True,
        )
        for result in listed
    ]
