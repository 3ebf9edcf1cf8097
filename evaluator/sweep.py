"""Restart unfinished work from the database's state after crashes, lost jobs and duplicate jobs."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from django.conf import settings

from benchmark_tasks.domain import content, garbage
from benchmark_tasks.domain.bucket import StorageUnavailableError
from evaluator.auditing.auditing import push_audit, waiting
from evaluator.enums import GenerationState
from evaluator.generation.generating import finish_generation, unfinished_generations
from evaluator.generation.limits import pause_at_limits
from evaluator.generation.reading_trajectories import read_again
from evaluator.hosts.able import note_unable
from evaluator.models import AnswerRequest, Judgement, TestRun
from evaluator.queue import leases
from evaluator.queue.pushing import MODELS, SITE, push_check, top_up
from evaluator.reevaluation.reevaluating import finalise_reevaluation, reevaluations_to_finalise
from evaluator.sandbox.configuration import configured_sandbox, golden_folder, sweep_scratch
from evaluator.sandbox.interface import SandboxError
from evaluator.signals import reconciled
from evaluator.testing.claims import is_live
from evaluator.testing.finalising import finalise, ready_to_finalise
from evaluator.testing.golden import sweep_golden
from evaluator.testing.planning import plan
from evaluator.testing.results import expire_runs
from submissions.domain import checking, scratch_folders, uploads
from submissions.domain.similarities import compare_older_answers
from submissions.enums import EndpointCheck, SubmissionState
from submissions.models import Endpoint, Submission

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Counts of what a sweep did."""

    expired: int
    planned: int
    pushed: int
    reaped: int


def reconcile() -> Sweep:
    """Expire leases, plan unplanned runs, push waiting ones, finalise submissions, remove boxes of dead processes.

    It also discards uploads without a submission, unused files and reference outputs, and
    reads some trajectories again where the reader has changed.
    """
    expired = expire_leases()
    planned = sum(
        len(plan(pk))
        for pk in Submission.objects.filter(state=SubmissionState.QUEUED, implementations__test_runs__isnull=True)
        .distinct()
        .values_list("pk", flat=True)
    )
    pushed = top_up(leases.due(TestRun.objects.all()).count()) + top_up(_waiting_for_models(), MODELS)
    for pk in ready_to_finalise():
        finalise(pk)
    pause_at_limits()
    for pk in unfinished_generations():
        finish_generation(pk)
    for pk in reevaluations_to_finalise():
        finalise_reevaluation(pk)
    if waiting():
        push_audit()
    for pk in Endpoint.objects.filter(check_state=EndpointCheck.WAITING).values_list("pk", flat=True):
        push_check(pk)
    checking.sweep()
    top_up(checking.waiting(), SITE)
    uploads.sweep()
    _read_files()
    note_unable()
    # An error in a higher room (Django logs it) must not keep a worker from its runs.
    reconciled.send_robust(sender=Sweep)
    return Sweep(expired=expired, planned=planned, pushed=pushed, reaped=sweep_host())


def sweep_host() -> int:
    """Remove what killed processes left on this host: files and boxes; return the number of boxes."""
    scratch_folders.sweep()
    content.tidy()
    sweep_scratch()
    sweep_golden(golden_folder())
    return _reap()


def _read_files() -> None:
    """Do the part that needs the content store: without it, all other work must go on."""
    for part in (garbage.sweep_when_due, compare_older_answers, read_again):
        try:
            part()
        except StorageUnavailableError as error:
            log.warning("sweep_without_storage", error=str(error))


def expire_leases() -> int:
    """Take work back from workers that stopped renewing their leases, and hold or finish runs affected by that.

    Returns how many leases expired. Each counts as an infrastructure error of its work.
    """
    runs, requests, judgements = expire_runs(), leases.expire(AnswerRequest), leases.expire(Judgement)
    for pk in set(AnswerRequest.objects.filter(pk__in=requests).values_list("generation", flat=True)):
        finish_generation(pk)
    return len(runs) + len(requests) + len(judgements)


def _waiting_for_models() -> int:
    requests = leases.due(AnswerRequest.objects.filter(generation__state=GenerationState.RUNNING))
    return requests.count() + leases.due(Judgement.objects.all()).count()


def _reap() -> int:
    try:
        return configured_sandbox().reap(keep=is_live)
    except SandboxError as error:
        # A host that does not evaluate needs no sandbox: model workers use one for agents only.
        (log.warning if settings.ENVIRONMENT.evaluates else log.debug)("reap_failed", error=str(error))
        return 0
