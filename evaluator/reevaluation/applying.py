"""Ending a re-evaluation: with its last run the new results replace the old ones, all at once, or none of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from evaluator.enums import ReevaluationState, RunState
from evaluator.models import Reevaluation, TestRun
from evaluator.reevaluation.differences import in_words
from evaluator.signals import submission_reevaluated
from evaluator.testing.types import Outcome
from submissions.domain.audit import record
from submissions.enums import Verb
from submissions.models import Implementation, Submission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import SuiteVersion

UNFINISHED = [RunState.QUEUED, RunState.RUNNING]


def finalise_reevaluation(pk: int) -> None:
    """Apply the re-evaluation when all its runs are done, or hold it with the reason when one of them is held."""
    with transaction.atomic():
        under_way = Reevaluation.objects.filter(pk=pk, state=ReevaluationState.RUNNING)
        reevaluation = under_way.select_for_update().first()
        runs = TestRun.objects.filter(reevaluation=pk)
        if reevaluation is None or runs.filter(state__in=UNFINISHED).exists():
            return
        held = runs.filter(state=RunState.HELD).order_by("pk").first()
        if held is not None:
            under_way.update(state=ReevaluationState.HELD, held_reason=held.reason)
            return
        _apply(reevaluation)


def reevaluations_to_finalise() -> list[int]:
    """Those under way all of whose runs have ended: nobody moved them on. One query."""
    unfinished = TestRun.objects.filter(reevaluation=OuterRef("pk"), state__in=UNFINISHED)
    ended = Reevaluation.objects.filter(~Exists(unfinished), state=ReevaluationState.RUNNING)
    return list(ended.values_list("pk", flat=True))


def _apply(reevaluation: Reevaluation) -> None:
    submission = Submission.objects.select_for_update().get(pk=reevaluation.submission_id)
    old = _current_runs(submission)
    new = {run.implementation_id: run for run in reevaluation.runs.select_related("implementation__revision__task")}
    before = _row(reevaluation.from_version, submission, old.values())
    for answer, run in new.items():
        TestRun.objects.filter(pk=run.pk).update(supersedes=old.get(answer))
    _move(submission, reevaluation, [run.environment_digest for run in new.values()])
    # From here on the new runs are the current ones.
    Reevaluation.objects.filter(pk=reevaluation.pk).update(state=ReevaluationState.APPLIED, ended=timezone.now())
    after = _row(reevaluation.to_version, submission, _current_runs(submission).values())
    tasks = [_compared(old.get(answer), run) for answer, run in new.items()]
    difference = {"tasks": tasks, "row": {"before": before, "after": after}}
    Reevaluation.objects.filter(pk=reevaluation.pk).update(difference=difference, held_reason="")
    record(
        verb=Verb.REEVALUATED,
        subject=submission,
        actor=reevaluation.actor,
        reason=reevaluation.reason,
        data={"reevaluation": reevaluation.pk, "changed": _as_changes(reevaluation, difference)},
    )
    submission_reevaluated.send(sender=Submission, submission=submission)


def _current_runs(submission: Submission) -> dict[int, TestRun]:
    """Answer's id -> the run that counts."""
    runs = TestRun.objects.current().filter(implementation__submission=submission)
    return {run.implementation_id: run for run in runs.order_by("pk").select_related("implementation__revision__task")}


def _move(submission: Submission, reevaluation: Reevaluation, digests: list[str]) -> None:
    """Have the submission belong to the new version, its answers to that version's revisions of the same tasks."""
    Submission.objects.filter(pk=submission.pk).update(
        suite_version=reevaluation.to_version,
        environment_digest=next(filter(None, digests), submission.environment_digest),
    )
    submission.refresh_from_db()
    revisions = dict(reevaluation.to_version.revisions.values_list("task_id", "pk"))
    for answer in Implementation.objects.filter(submission=submission).select_related("revision").only("revision"):
        wanted = revisions[answer.revision.task_id]
        if answer.revision_id != wanted:
            Implementation.objects.filter(pk=answer.pk).update(revision=wanted)


def _row(version: SuiteVersion, submission: Submission, runs: Iterable[TestRun]) -> dict[str, Any]:
    """Passed and counted tasks as on the board: pass@1 over the trials, without the tasks that are left out."""
    counted = {revision.task_id for revision in version.revisions.all() if not revision.why_left_out}
    passed: dict[int, int] = defaultdict(int)
    for run in runs:
        passed[run.implementation.revision.task_id] += run.outcome == Outcome.PASSED.value
    share = sum(number for task, number in passed.items() if task in counted) / submission.trials
    return {"passed": share, "tasks": len(counted)}


def _compared(old: TestRun | None, new: TestRun) -> dict[str, Any]:
    answer = new.implementation
    return {
        "task": answer.revision.task.slug,
        "trial": answer.trial,
        "before": old.outcome if old else "",
        "after": new.outcome,
        "why": new.supersedes_reason,
    }


def _as_changes(reevaluation: Reevaluation, difference: dict[str, Any]) -> dict[str, list[str]]:
    """The difference as the lines of a submission's history: what -> old, new."""
    row = difference["row"]
    changes = {
        f"{task['task']} trial {task['trial']}" if reevaluation.submission.trials > 1 else task["task"]: [
            in_words(task["before"]),
            in_words(task["after"]),
        ]
        for task in difference["tasks"]
        if task["before"] != task["after"]
    }
    if reevaluation.from_version_id != reevaluation.to_version_id:
        changes["suite version"] = [str(reevaluation.from_version.number), str(reevaluation.to_version.number)]
    tests = [f"{row[side]['passed']:g} of {row[side]['tasks']}" for side in ("before", "after")]
    return {**changes, "passed tasks": tests} if tests[0] != tests[1] else changes
