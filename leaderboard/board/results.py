"""Single results behind the board's rows: per task, per system, and per reported run."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db.models import OuterRef
from django.urls import reverse

from benchmark_tasks.domain.queries import revisions_of
from evaluator.enums import RunState, WorkState
from evaluator.generation.pass_at_k import mean_pass_at_k
from evaluator.judging.labels import Label
from evaluator.models import Judgement, TestRun
from evaluator.queue.progress import passed_trials
from evaluator.testing.types import Outcome
from leaderboard.board.board import (
    BoardRow,
    LabelsCell,
    TestsCell,
    board_row,
    labels_cell,
    tests_cell,
    unpublished_count,
    visible_entries,
)
from leaderboard.models import Entry, ReportedResult
from leaderboard.published.labels import RaterAxis
from submissions.enums import Inputs, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmark_tasks.models import Category, Suite, Task
    from leaderboard.models import EntryMetric
    from submissions.models import Submission, System

CONFUSION_ORDER: Final = (Label.LI, Label.LC, Label.CC)
_SHOWN_OF_ANSWER: Final = (
    "trial",
    "submission__inputs",
    "submission__kind",
    "submission__system__name",
    "submission__system__slug",
)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One system's result on one task. ``trials`` are measured outcomes, empty for reported results.

    ``tests_passed`` is the reported unit test, None where none was reported; labels are empty where none was given.
    ``judge_label`` of a measured result is the shown judge's, where it says the same of every trial.
    """

    system: str
    system_slug: str
    inputs_text: str
    address: str
    reported: bool
    calibration: bool
    trials: tuple[tuple[int, Outcome, str], ...] = ()
    tests_passed: bool | None = None
    tests_note: str = ""
    judge_label: str = ""
    human_label: str = ""


@dataclass(frozen=True, slots=True)
class CategoryNumbers:
    """An entry's numbers in one category; None for a rater that said nothing there."""

    category: Category
    tests: TestsCell | None
    judge: LabelsCell | None
    human: LabelsCell | None


@dataclass(frozen=True, slots=True)
class PassAtK:
    """The estimated chance, in percent, that one of ``k`` answers to a task passes; the mean over ``tasks``."""

    k: int
    percent: float
    tasks: int


@dataclass(frozen=True, slots=True)
class SystemRun:
    """One published row of a system, with its numbers per category."""

    suite: Suite
    version: int
    row: BoardRow
    categories: tuple[CategoryNumbers, ...]


def results_of_task(task: Task) -> list[TaskResult]:
    """Every published result on ``task``: measured ones first, then reported, then samples, by name in each."""
    results = [*_measured_results(task), *_reported_results(task)]
    return sorted(results, key=lambda result: (result.calibration, result.reported, result.system.casefold()))


def runs_of_system(system: System) -> list[SystemRun]:
    """Every published row of ``system``, suite by suite, newest version first, with its numbers per category."""
    entries = (
        visible_entries()
        .filter(system=system)
        .select_related("system", "submission", "reported_run", "suite_version__suite")
        .prefetch_related("metrics__category")
        .annotate(unpublished=unpublished_count(OuterRef("system"), OuterRef("suite_version__suite")))
        .order_by("suite_version__suite__position", "-suite_version__number", "pk")
    )
    return [_system_run(entry, entry.unpublished) for entry in entries]


def pass_at_k_table(submission: Submission) -> list[PassAtK]:
    """pass@1 to pass@n of a scored submission with n > 1 trials, without bias; empty for a single trial.

    The tasks are those of its board row, and one without any outcome has no pass.
    """
    if submission.trials == 1 or not Entry.objects.filter(submission=submission).exists():
        return []
    passes = passed_trials(submission, revisions_of(submission.suite_version))
    tasks = [(submission.trials, count) for count in passes.values()]
    estimates = ((k, mean_pass_at_k(tasks, k)) for k in range(1, submission.trials + 1))
    return [PassAtK(k=k, percent=100 * mean, tasks=len(tasks)) for k, mean in estimates if mean is not None]


def category_numbers(metrics: Iterable[EntryMetric]) -> tuple[CategoryNumbers, ...]:
    """The per-category metrics among ``metrics`` in which at least one rater said something, in the paper's order."""
    numbers = [
        CategoryNumbers(
            category=metric.category,
            tests=tests_cell(metric),
            judge=labels_cell(metric, RaterAxis.JUDGE),
            human=labels_cell(metric, RaterAxis.HUMAN),
        )
        for metric in metrics
        if metric.category is not None
    ]
    spoken = [each for each in numbers if each.tests or each.judge or each.human]
    return tuple(sorted(spoken, key=lambda each: each.category.position))


def confusion(results: Iterable[ReportedResult]) -> list[tuple[Label, list[int]]] | None:
    """Counts of answers by human label (rows) and judge's label (columns), both LI, LC, CC.

    Only answers that both rated count; None when there are none.
    """
    pairs = Counter(
        (result.human_label, result.judge_label) for result in results if result.human_label and result.judge_label
    )
    if not pairs:
        return None
    return [(human, [pairs[human.value, judge.value] for judge in CONFUSION_ORDER]) for human in CONFUSION_ORDER]


def _system_run(entry: Entry, unpublished: int) -> SystemRun:
    metrics = list(entry.metrics.all())
    overall = next((metric for metric in metrics if metric.category_id is None), None)
    row = board_row(entry, overall, unpublished)
    return SystemRun(
        suite=entry.suite_version.suite,
        version=entry.suite_version.number,
        row=row,
        categories=category_numbers(metrics),
    )


def _measured_results(task: Task) -> list[TaskResult]:
    runs = (
        TestRun.objects.current()
        .filter(
            state=RunState.DONE,
            implementation__revision__task=task,
            implementation__submission__entry__in=visible_entries(),
        )
        .select_related("implementation__submission__system")
        # Answers and logs may be megabytes each, and all that are published stand on one page.
        .only("outcome", *(f"implementation__{name}" for name in _SHOWN_OF_ANSWER))
        .order_by("pk")
    )
    # One answer has one result, whatever happened to its runs.
    newest = {run.implementation_id: run for run in runs}
    labels = dict(
        Judgement.objects.filter(
            implementation__in=list(newest), config__shown_for__suite=task.suite_id, state=WorkState.DONE
        ).values_list("implementation_id", "label")
    )
    by_submission: dict[int, list[TestRun]] = defaultdict(list)
    for run in newest.values():
        by_submission[run.implementation.submission_id].append(run)
    return [_measured_result(task, group, labels) for group in by_submission.values()]


def _measured_result(task: Task, runs: list[TestRun], labels: Mapping[int, str]) -> TaskResult:
    submission = runs[0].implementation.submission
    trials = sorted((run.implementation.trial, Outcome(run.outcome)) for run in runs)
    said = {labels.get(run.implementation_id, "") for run in runs}
    return TaskResult(
        system=submission.system.name,
        system_slug=submission.system.slug,
        inputs_text=Inputs(submission.inputs).label,
        address=reverse("submission", args=[submission.pk]),
        reported=False,
        judge_label=said.pop() if len(said) == 1 else "",
        calibration=submission.kind == Kind.CALIBRATION,
        trials=tuple(
            (
                trial,
                outcome,
                reverse("implementation", args=[submission.pk, task.paper.slug, task.index, trial]),
            )
            for trial, outcome in trials
        ),
    )


def _reported_results(task: Task) -> list[TaskResult]:
    results = ReportedResult.objects.filter(task=task, run__entry__in=visible_entries()).select_related("run__system")
    return [
        TaskResult(
            system=result.run.system.name,
            system_slug=result.run.system.slug,
            inputs_text=Inputs(result.run.inputs).label,
            address=reverse("reported_run", args=[result.run.slug]),
            reported=True,
            calibration=False,
            tests_passed=result.tests_passed,
            tests_note=result.tests_note,
            judge_label=result.judge_label,
            human_label=result.human_label,
        )
        for result in results
    ]
