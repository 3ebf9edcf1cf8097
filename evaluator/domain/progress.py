"""Where a submission stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluator.grading.types import Outcome
from evaluator.models import TestRun

if TYPE_CHECKING:
    from submissions.models import Submission


def summary(submission: Submission) -> dict[str, Any]:
    """What ``submit --json`` prints: submission, state, tests (passed, total) and tasks (task, outcome, seconds).

    With several trials a task has one row a trial, and ``trial`` in it. ``outcome`` is empty while it is not decided.
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
    passed = sum(task["outcome"] == Outcome.PASSED.value for task in tasks)
    return {
        "submission": submission.pk,
        "state": submission.state,
        "tests": {"passed": passed, "total": len(tasks)},
        "tasks": tasks,
    }
