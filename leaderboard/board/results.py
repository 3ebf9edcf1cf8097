"""Single results behind the board's rows: per task, per system, and per reported run."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmark_tasks.domain.queries import revisions_of
from benchmark_tasks.domain.statistics import mean_pass_at_k
from evaluator.enums import RunState, WorkState
from evaluator.judging.labels import Label
from evaluator.models import Judgement, TestRun
from evaluator.queue.progress import passed_trials
from evaluator.testing.types import Outcome
from leaderboard.board.board import (
    BoardRow,
    board_row,
    labels_cell,
    tests_cell,
    unpublished_of,
    visible_entries,
)
from leaderboard.enums import RaterAxis
from leaderboard.models import Entry, ReportedResult
from submissions.enums import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import Task
    from leaderboard.models import EntryMetric
    from submissions.models import Implementation, Submission, System


class TaskResult(NamedTuple):
    """One row's result on one task: outcomes by trial where it was measured here, else what was reported.

    ``judge_label`` of a measured result is the shown judge's, where it says the same of every trial.
    """

    entry: Entry
    trials: list[tuple[Implementation, Outcome]]
    reported: ReportedResult | None
    judge_label: str = ""


class SystemRun(NamedTuple):
    """One published row of a system, with its numbers per category."""

    entry: Entry
    row: BoardRow
    categories: list[dict[str, Any]]


def results_of_task(task: Task) -> list[TaskResult]:
    """Every published result on ``task``: measured ones first, then reported, then samples, by name in each."""
    results = [*_measured_results(task), *_reported_results(task)]
    return sorted(
        results,
        key=lambda each: (each.entry.kind == Kind.CALIBRATION, bool(each.reported), each.entry.system.name.casefold()),
    )


def runs_of_system(system: System) -> list[SystemRun]:
    """Every published row of ``system``, suite by suite, newest version first, with its numbers per category."""
    entries = (
        visible_entries()
        .filter(system=system)
        .select_related("system", "submission", "reported_run", "suite_version__suite")
        .prefetch_related("metrics__category")
        .order_by("suite_version__suite__position", "-suite_version__number", "pk")
    )
    found = []
    unpublished = unpublished_of({system.pk})
    for entry in entries:
        metrics = list(entry.metrics.all())
        overall = next((metric for metric in metrics if metric.category_id is None), None)
        found.append(
            SystemRun(
                entry,
                board_row(entry, overall, unpublished.get((system.pk, entry.suite_version.suite_id), 0)),
                category_numbers(metrics),
            )
        )
    return found


def pass_at_k_table(submission: Submission) -> list[tuple[int, float, int]]:
    """The estimated chance in percent that one of k answers to a task passes, as (k, percent, number of tasks).

    For k from 1 to the n > 1 trials of a scored submission, without bias; empty for a single trial. The tasks are those
    of its board row, and one without any outcome has no pass.
    """
    if submission.trials == 1 or not Entry.objects.filter(submission=submission).exists():
        return []
    passes = passed_trials(submission, revisions_of(submission.suite_version))
    tasks = [(submission.trials, count) for count in passes.values()]
    estimates = ((k, mean_pass_at_k(tasks, k)) for k in range(1, submission.trials + 1))
    return [(k, 100 * mean, len(tasks)) for k, mean in estimates if mean is not None]


def category_numbers(metrics: Iterable[EntryMetric]) -> list[dict[str, Any]]:
    """The per-category metrics among ``metrics`` in which at least one rater said something, in the paper's order."""
    in_order = sorted(
        ((metric.category, metric) for metric in metrics if metric.category is not None),
        key=lambda each: each[0].position,
    )
    numbers = [
        {
            "category": category,
            "tests": tests_cell(metric),
            "judge": labels_cell(metric, RaterAxis.JUDGE),
            "human": labels_cell(metric, RaterAxis.HUMAN),
        }
        for category, metric in in_order
    ]
    return [each for each in numbers if each["tests"] or each["judge"] or each["human"]]


def confusion(results: Iterable[ReportedResult]) -> list[tuple[Label, list[int]]] | None:
    """Counts of answers by human label (rows) and judge's label (columns), both in the order of labels.

    Only answers that both rated count; None when there are none.
    """
    pairs = Counter(
        (result.human_label, result.judge_label) for result in results if result.human_label and result.judge_label
    )
    if not pairs:
        return None
    return [(human, [pairs[human.value, judge.value] for judge in Label]) for human in Label]


def _measured_results(task: Task) -> list[TaskResult]:
    runs = (
        TestRun.objects.current()
        .filter(
            state=RunState.DONE,
            implementation__revision__task=task,
            implementation__submission__entry__in=visible_entries(),
        )
        # Answers and logs may be megabytes each, and all that are published stand on one page.
        .select_related("implementation__revision__task__paper")
        .only(
            "outcome",
            *("implementation__trial", "implementation__submission_id", "implementation__revision__task__index"),
            "implementation__revision__task__paper__slug",
        )
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
    results = []
    for entry in visible_entries().filter(submission__in=list(by_submission)).select_related("system"):
        group = sorted(by_submission[entry.submission_id or 0], key=lambda run: run.implementation.trial)
        said = {labels.get(run.implementation_id, "") for run in group}
        trials = [(run.implementation, Outcome(run.outcome)) for run in group]
        results.append(TaskResult(entry, trials, None, said.pop() if len(said) == 1 else ""))
    return results


def _reported_results(task: Task) -> list[TaskResult]:
    results = ReportedResult.objects.filter(task=task, run__entry__in=visible_entries())
    entries = results.select_related("run__entry__system", "run__entry__reported_run")
    return [TaskResult(result.run.entry, [], result, result.judge_label) for result in entries]
