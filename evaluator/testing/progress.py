"""A submission's state, and how many of the counted tasks it passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmark_tasks.domain.left_out import audited_later, tasks_left_out
from benchmark_tasks.domain.queries import revisions_of
from evaluator.enums import RunState
from evaluator.models import TestRun
from evaluator.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import TaskRevision
    from submissions.models import Submission


def passed_by_trial(submission: Submission, revisions: Iterable[TaskRevision]) -> dict[int, list[bool]]:
    """Map the id of each counted revision to its trials: whether the newest result passes; no result is no pass.

    pass@1 is the mean of these over the tasks and the submission's trials. Board, pass@k and ``submit`` use this.
    """
    newest: dict[tuple[int, int], bool] = {}
    runs = TestRun.objects.current().filter(implementation__submission=submission, state=RunState.DONE).order_by("pk")
    for revision, trial, outcome in runs.values_list("implementation__revision", "implementation__trial", "outcome"):
        newest[revision, trial] = outcome == Outcome.PASSED.value
    trials = range(1, submission.trials + 1)
    return {
        each.pk: [newest.get((each.pk, trial), False) for trial in trials]
        for each in revisions
        if not each.why_left_out
    }


def passed_trials(submission: Submission, revisions: Iterable[TaskRevision]) -> dict[int, int]:
    """Map the id of each counted revision to the number of trials that pass."""
    return {revision: sum(passed) for revision, passed in passed_by_trial(submission, revisions).items()}


def summary(submission: Submission) -> dict[str, Any]:
    """Return the output of ``submit --json``: submission, state, tests (passed, total), left_out and tasks.

    ``tests`` counts like the board: tasks that are not left out, each by its fraction of passing trials.
    ``answers_passed`` counts every passing answer, ``audited_later`` the tasks that may count after their audit.
    ``tasks`` (task, outcome, seconds; with several trials also ``trial``) has a row per answer. ``outcome`` is empty
    while it is undecided.
    """
    runs = (
        TestRun.objects.current()
        .filter(implementation__submission=submission)
        .select_related("implementation__revision__task")
        .order_by(
            "implementation__revision__task__paper__folder_name",
            "implementation__revision__task__index",
            "implementation__trial",
        )
    )
    tasks = [
        {"task": run.implementation.revision.task.slug, "outcome": run.outcome, "seconds": run.seconds}
        | ({"trial": run.implementation.trial} if submission.trials > 1 else {})
        for run in runs
    ]
    revisions = list(revisions_of(submission.suite_version))
    passes = passed_trials(submission, revisions)
    return {
        "submission": submission.pk,
        "state": submission.state,
        "tests": {"passed": sum(passes.values()) / submission.trials, "total": len(passes)},
        "answers_passed": sum(each["outcome"] == Outcome.PASSED for each in tasks),
        "audited_later": audited_later(revisions),
        "left_out": tasks_left_out(revisions),
        "tasks": tasks,
    }
