"""Measuring scored submissions again: what a re-evaluation would do and why, and starting, stopping, retrying one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from benchmark_tasks.domain.queries import current_version
from benchmark_tasks.models import Suite, SuiteVersion
from benchmark_tasks.signals import suite_imported
from evaluator.enums import ReevaluationState, RunState
from evaluator.models import Reevaluation, TestRun
from evaluator.queue.finalising import stop_runs
from evaluator.queue.queueing import push
from evaluator.reevaluation.applying import finalise_reevaluation
from evaluator.reevaluation.replanning import with_new_seeds
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from submissions.domain.audit import record
from submissions.enums import SubmissionState, Verb
from submissions.exceptions import NotAllowedError, WrongStateError
from submissions.models import Submission

if TYPE_CHECKING:
    from evaluator.reevaluation.replanning import PlannedReevaluation, PlannedRun
    from submissions.models import User

OPEN = [ReevaluationState.RUNNING, ReevaluationState.HELD]


def start(*, planned: PlannedReevaluation, reason: str, actor: User | None) -> Reevaluation:
    """Queue what ``planned`` says. The submission's old results count until all new ones are there.

    ``actor`` is None for the command line. Raises :class:`NotAllowedError` for others than maintainers and without a
    reason, :class:`WrongStateError` when there is nothing to do, the plan is no longer true, or one is under way.
    """
    _require_maintainer(actor)
    if not reason.strip():
        msg = "Say why: the reason is published beside the difference."
        raise NotAllowedError(msg)
    if not planned.needed:
        msg = f"Submission {planned.submission.pk} has nothing to be measured again."
        raise WrongStateError(msg)
    with transaction.atomic():
        submission = _lock(planned)
        reevaluation = _new(planned, reason, actor)
        TestRun.objects.bulk_create([_new_run(reevaluation, run) for run in planned.runs])
        record(
            verb=Verb.REEVALUATING,
            subject=submission,
            actor=actor,
            reason=reason,
            data={"reevaluation": reevaluation.pk, "runs": len(planned.runs)},
        )
        transaction.on_commit(partial(push, sum(run.needs_box for run in planned.runs)))
        # With nothing to run (only facts of a task changed, say) it is done already.
        transaction.on_commit(partial(finalise_reevaluation, reevaluation.pk))
    return reevaluation


def _lock(planned: PlannedReevaluation) -> Submission:
    as_planned = Submission.objects.filter(
        pk=planned.submission.pk, state=SubmissionState.SCORED, suite_version=planned.submission.suite_version_id
    )
    submission = as_planned.select_for_update().first()
    if submission is None:
        msg = f"Submission {planned.submission.pk} changed since this was planned. Plan it again."
        raise WrongStateError(msg)
    return submission


def _new(planned: PlannedReevaluation, reason: str, actor: User | None) -> Reevaluation:
    try:
        with transaction.atomic():
            return Reevaluation.objects.create(
                submission=planned.submission,
                from_version_id=planned.submission.suite_version_id,
                to_version=planned.target,
                reason=reason,
                actor=actor,
            )
    except IntegrityError:
        msg = f"Submission {planned.submission.pk} is being re-evaluated already."
        raise WrongStateError(msg) from None


def _new_run(reevaluation: Reevaluation, planned: PlannedRun) -> TestRun:
    answer, revision = planned.implementation, planned.revision
    run = TestRun(
        implementation=answer,
        reevaluation=reevaluation,
        revision=revision if revision.pk != answer.revision_id else None,
        grading_hash=revision.grading_hash,
        seed_epoch=reevaluation.to_version.seed_epoch.number,
        evaluator_version=EVALUATOR_VERSION,
        supersedes_reason="; ".join(planned.why),
    )
    if not planned.needs_box:
        # No box was needed to decide it, and none would decide otherwise.
        run.state, run.outcome, run.reason = RunState.DONE, planned.before.outcome, planned.before.reason
        run.seconds, run.finished = 0.0, timezone.now()
    return run


def retry(*, reevaluation: Reevaluation, actor: User) -> int:
    """Queue the held runs of a held re-evaluation again and say how many. For maintainers; recorded."""
    _require_maintainer(actor)
    with transaction.atomic():
        if not Reevaluation.objects.filter(pk=reevaluation.pk, state=ReevaluationState.HELD).update(
            state=ReevaluationState.RUNNING, held_reason=""
        ):
            msg = "Only a held re-evaluation can be retried."
            raise WrongStateError(msg)
        held = TestRun.objects.filter(reevaluation=reevaluation, state=RunState.HELD)
        count = held.update(state=RunState.QUEUED, infra_count=0, not_before=None)
        record(verb=Verb.RETRIED, subject=reevaluation, actor=actor, data={"runs": count})
        transaction.on_commit(partial(push, count))
    return count


def cancel(*, reevaluation: Reevaluation, actor: User | None) -> None:
    """Stop it; everything stays as it was before. For maintainers; recorded.

    Raises :class:`NotAllowedError`, and :class:`WrongStateError` when it has ended.
    """
    _require_maintainer(actor)
    with transaction.atomic():
        if not Reevaluation.objects.filter(pk=reevaluation.pk, state__in=OPEN).update(
            state=ReevaluationState.CANCELLED, ended=timezone.now()
        ):
            msg = "It has ended already."
            raise WrongStateError(msg)
        record(
            verb=Verb.REEVALUATION_STOPPED,
            subject=reevaluation.submission,
            actor=actor,
            data={"reevaluation": reevaluation.pk},
        )
        stop_runs(TestRun.objects.filter(reevaluation=reevaluation), "The re-evaluation was stopped.")


def new_epoch(*, suite: Suite, actor: User | None) -> SuiteVersion:
    """Draw the private seeds of ``suite`` anew: a new version with the same task revisions and the next seed epoch.

    What was scored before stays on its version until it is re-evaluated. Raises :class:`WrongStateError` before the
    suite's first import.
    """
    _require_maintainer(actor)
    with transaction.atomic():
        suite = Suite.objects.select_for_update().get(pk=suite.pk)
        current = current_version(suite)
        if current is None:
            msg = f"{suite} has no version yet: import it first."
            raise WrongStateError(msg)
        version = with_new_seeds(current)
        version.seed_epoch.save()
        version.save()
        version.revisions.set(current.revisions.all())
        transaction.on_commit(
            partial(suite_imported.send_robust, sender=SuiteVersion, suite_version=version, actor=actor)
        )
    return version


def _require_maintainer(actor: User | None) -> None:
    if actor is not None and not actor.is_staff:
        msg = "Only maintainers re-evaluate submissions."
        raise NotAllowedError(msg)
