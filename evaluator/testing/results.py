"""Decide a test run by a verdict or an infrastructure error, and update its submission."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmark_tasks.domain.clock import database_now
from evaluator.enums import AttemptState
from evaluator.hosts.able import leave_to_others
from evaluator.models import Attempt, TestRun
from evaluator.queue import leases
from evaluator.queue.pushing import SITE, push, push_once
from evaluator.sandbox import task_environments
from evaluator.sandbox.interface import SandboxError
from evaluator.signals import measured_again
from evaluator.testing.finalising import UNFINISHED, finalise, stop_runs
from submissions.models import Submission

if TYPE_CHECKING:
    from evaluator.testing.verdicts import Verdict

LONGEST_WAIT_SECONDS = 300
"""Longest wait between two tries while this machine cannot start any box."""

WAITING = "waiting"
FINALISE_JOB: Final = "evaluator.jobs.finalise_run"


def accept(
    claim: Attempt,
    *,
    verdict: Verdict,
    environment_digest: str,
    environment: str = "",
    upstream_verdict: Verdict | SandboxError | None = None,
) -> bool:
    """Store the verdict if ``claim`` still holds its run; return whether it did. A late result is discarded.

    ``upstream_verdict`` is the verdict of the suite's own unit test where a sealed one decides, or why there is none.
    Raises ``SandboxError`` if another run of the submission was meanwhile decided in another environment.
    """
    with transaction.atomic():
        accepted = leases.finish(
            TestRun,
            claim.run_id,
            claim.token,
            environment=environment,
            environment_digest=environment_digest,
            outcome=verdict.outcome.value,
            reason=verdict.reason,
            cases=[asdict(case) for case in verdict.cases],
            log=verdict.log,
            seconds=verdict.seconds,
            **_upstream_fields(upstream_verdict),
        )
        if accepted:
            _pin(claim.run_id, environment, environment_digest)
        _end_attempt(claim, AttemptState.ACCEPTED if accepted else AttemptState.LOST, "")
    # Even if it was not accepted: the answer to an earlier commit of the same verdict may have been lost.
    finalise_run(claim.run_id)
    return accepted


def _upstream_fields(upstream_verdict: Verdict | SandboxError | None) -> dict[str, Any]:
    if upstream_verdict is None:
        return {}
    if isinstance(upstream_verdict, SandboxError):
        return {"upstream": {"reason": upstream_verdict.public}}
    verdict = {"reason": upstream_verdict.reason, "log": upstream_verdict.log, "seconds": upstream_verdict.seconds}
    return {"upstream_outcome": upstream_verdict.outcome.value, "upstream": verdict}


def _pin(run_id: int, environment: str, digest: str) -> None:
    """Pin the submission to the first decided run's environment. The row lock serialises runs that end together."""
    run = _with_its_submission(run_id)
    locked = Submission.objects.select_for_update().only("environment_digest")
    submission = locked.get(pk=run.implementation.submission_id)
    task_environments.require_same(run, environment=environment, digest=digest)
    if run.reevaluation_id is None and not submission.environment_digest:
        Submission.objects.filter(pk=submission.pk).update(environment_digest=digest)


def _with_its_submission(run_id: int) -> TestRun:
    runs = TestRun.objects.select_related("implementation")
    return runs.only("reevaluation", "implementation__submission").get(pk=run_id)


def finalise_run(run_id: int) -> None:
    """Update the submission or re-evaluation that waits for the run, if it was the last one.

    A host without the pool ``site`` leaves this to one that has it: scoring and publishing need rights in the database
    that running tests does not (``evaluator.hosts.grants``). The sweep makes up for a lost job.
    """
    run = _with_its_submission(run_id)
    if "site" not in settings.ENVIRONMENT.pools:
        together = TestRun.objects.filter(
            implementation__submission=run.implementation.submission_id, reevaluation=run.reevaluation_id
        )
        if not together.filter(state__in=UNFINISHED).exists():
            push_once(SITE, FINALISE_JOB, run_id, job_id=f"finalise-{run_id}")
    elif run.reevaluation_id is None:
        finalise(run.implementation.submission_id)
    else:
        measured_again.send(sender=TestRun, reevaluation_id=run.reevaluation_id)


def record_infra(claim: Attempt, *, reason: str, public: str, everywhere: bool = False) -> None:
    """Store an infrastructure error: retry later, and after three tries hold the run for an operator.

    ``reason`` is for maintainers, ``public`` for the submitter. An ``everywhere`` error of this machine (no box can be
    started at all) does not count against the run, which is never held for it. If another host evaluates, this one
    leaves the run, and all others until its next report, to it: it would fail them one after the other. Otherwise the
    run waits, longer each time.
    """
    with transaction.atomic():
        if everywhere:
            others = leave_to_others(public)
            kept = leases.release(
                TestRun,
                claim.run_id,
                claim.token,
                reason=f"{WAITING}: {public}",
                not_before=None if others else database_now() + _retry_delay(claim.run_id),
            )
            if others:
                transaction.on_commit(partial(push, 1))
        else:
            kept = leases.record_error(TestRun, claim.run_id, claim.token, reason=public) is not None
        _end_attempt(claim, AttemptState.INFRA if kept else AttemptState.LOST, reason)
    if kept:
        finalise_run(claim.run_id)


def _retry_delay(run_id: int) -> timedelta:
    errors_before = Attempt.objects.filter(run=run_id, state=AttemptState.INFRA).count()
    first = max(settings.ENVIRONMENT.infra_retry_seconds, 1)
    return timedelta(seconds=min(first * 2 ** min(errors_before, 10), LONGEST_WAIT_SECONDS))


def expire_runs() -> list[int]:
    """Count an infrastructure error for every run with an expired lease; return the runs' ids."""
    with transaction.atomic():
        lost = leases.expire(TestRun)
        Attempt.objects.filter(run__in=lost, state=AttemptState.RUNNING).update(
            state=AttemptState.INFRA, reason=leases.LEASE_LOST, ended=timezone.now()
        )
    for run_id in lost:
        finalise_run(run_id)
    return lost


def release(claim: Attempt, *, reason: str) -> None:
    """Return an unfinished run to the queue at once (its worker is stopping), without counting an error."""
    with transaction.atomic():
        freed = leases.release(TestRun, claim.run_id, claim.token)
        _end_attempt(claim, AttemptState.LOST, reason)
        if freed:
            transaction.on_commit(partial(push, 1))


def cancel_runs(submission_id: int) -> None:
    """Cancel a submission's waiting runs and revoke the tokens of running ones; heartbeats then stop the boxes."""
    stop_runs(TestRun.objects.filter(implementation__submission_id=submission_id), "The submission was cancelled.")


def _end_attempt(claim: Attempt, state: AttemptState, reason: str) -> None:
    Attempt.objects.filter(token=claim.token, state=AttemptState.RUNNING).update(
        state=state, reason=reason, ended=timezone.now()
    )
