"""Auditing task revisions: does the unit test tell right from wrong? (DESIGN, section 4, "Audit")."""

from __future__ import annotations

import hmac
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmark_tasks.domain.content import ContentMissingError
from benchmark_tasks.domain.queries import current_version, goal_of, revisions_of
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SeedEpoch, Suite, TaskRevision
from evaluator.auditing.measurements import Auditor
from evaluator.queue.claims import job_label
from evaluator.queue.infrastructure_errors import fault_of
from evaluator.sandbox.configuration import EVALUATOR_VERSION, configured_sandbox
from evaluator.sandbox.task_environments import environment_of, what_to_add
from evaluator.sandbox.types import SandboxError
from evaluator.signals import revision_audited
from evaluator.testing.graders import Grader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evaluator.auditing.audit_result import AuditResult

log = structlog.get_logger(__name__)

_FAILED = (AuditState.FAILED, AuditState.INCOMPLETE)


def waiting(
    suites: Iterable[Suite] | None = None, *, task: str = "", again: bool = False, failed: bool = False
) -> list[tuple[TaskRevision, SeedEpoch]]:
    """Revisions to audit, each with the epoch of its private seeds: runnable, in the newest version of their suite, and
    not audited yet, or declaring other mutants equivalent than when they were. With ``again`` all of them; with
    ``failed`` those whose audit failed or stopped at an incomplete environment. ``task`` is a slug, or empty for all.

    An audit that was made with another environment or evaluator is shown as outdated, but not repeated by itself: the
    scores that rest on it would change without anybody having asked.
    """
    versions = [current_version(suite) for suite in (Suite.objects.all() if suites is None else suites)]
    return [
        (revision, version.seed_epoch)
        for version in versions
        if version
        for revision in revisions_of(version)
        if not revision.not_runnable_reasons
        and task in ("", revision.task.slug)
        and (
            revision.audit_state in _FAILED
            if failed
            else again or revision.audit_state == AuditState.UNAUDITED or _declares_anew(revision)
        )
    ]


def ready_for_audit() -> list[TaskRevision]:
    """The waiting revisions that have an environment; what keeps the others from being audited is noted on them."""
    ready = []
    for revision, _ in waiting():
        try:
            environment_of(revision)
        except SandboxError as error:
            note_obstacle(error.public, [revision])
        else:
            ready.append(revision)
    return ready


def note_obstacle(why: str, revisions: Iterable[TaskRevision]) -> None:
    """Keep on unaudited ``revisions`` why they cannot be audited, for everybody to read; empty: nothing is known."""
    for revision in revisions:
        if revision.audit.get("obstacle", "") != why:
            audit = {key: value for key, value in revision.audit.items() if key != "obstacle"}
            unaudited = TaskRevision.objects.filter(pk=revision.pk, audit_state=AuditState.UNAUDITED)
            unaudited.update(audit=audit | ({"obstacle": why} if why else {}))


def audit_waiting_revision(revision_id: int) -> AuditResult | None:
    """Audit one revision if it still waits; else None. Raises ``SandboxError`` for infrastructure errors."""
    for revision, epoch in waiting():
        if revision.pk == revision_id:
            try:
                return audit_revision(revision, epoch)
            except SandboxError as error:
                note_obstacle(fault_of(error).public, [revision])
                raise
    return None


def audit_revision(revision: TaskRevision, epoch: SeedEpoch) -> AuditResult:
    """Audit ``revision`` in real boxes and store what was found. Raises ``SandboxError`` for infrastructure errors."""
    result, facts = measure(revision, epoch)
    store(revision, result, facts)
    return result


def measure(revision: TaskRevision, epoch: SeedEpoch) -> tuple[AuditResult, dict[str, Any]]:
    """What an audit of ``revision`` finds, and with what it was made. Nothing is stored.

    The reference has to pass twice, with the public and current private seeds and then with others that are
    derived for this purpose; everything else is tried on the former. Raises ``SandboxError`` for infrastructure errors.
    """
    started = monotonic()
    grader = Grader(revision, epoch)
    sandbox = configured_sandbox()
    facts = {
        "sandbox": sandbox.name,
        "environment": grader.environment,
        "environment_digest": grader.environment_digest(),
        "evaluator_version": EVALUATOR_VERSION,
    }
    auditor = Auditor(
        grader=grader,
        regrader=Grader(revision, _other_seeds(epoch)),
        sandbox=sandbox,
        goal=goal_of(revision),
        label=job_label(),
        mutant_limit=settings.ENVIRONMENT.audit_mutants,
    )
    try:
        result = auditor.audit()
    except ContentMissingError as error:
        raise SandboxError(f"{error} Import the suite again.") from error
    if result.missing:
        facts["add"] = what_to_add(revision, result.missing)
    return result, {**facts, "made": timezone.now().isoformat(), "seconds": round(monotonic() - started, 1)}


def store(revision: TaskRevision, result: AuditResult, facts: dict[str, Any]) -> None:
    """Store what an audit found on its revision; sends ``revision_audited`` after commit."""
    with transaction.atomic():
        TaskRevision.objects.filter(pk=revision.pk).update(
            audit_state=state_of(result), audit={**result.as_data(), **facts}
        )
        revision.refresh_from_db(fields=["audit_state", "audit"])
        transaction.on_commit(partial(revision_audited.send_robust, sender=TaskRevision, revision=revision))
    log.info("audited", task=str(revision), state=revision.audit_state, reasons=list(result.reasons))


def state_of(result: AuditResult) -> AuditState:
    """What an audit makes of its revision."""
    if result.missing:
        return AuditState.INCOMPLETE
    if result.reasons:
        return AuditState.FAILED
    return AuditState.WEAK if result.weakness else AuditState.PASSED


def _declares_anew(revision: TaskRevision) -> bool:
    """Whether the author has declared mutants equivalent, or taken that back, since the audit. It changes the share."""
    mutants = revision.audit.get("mutants")
    if not mutants:
        return False
    known = {*(each["id"] for each in mutants["equivalents"]), *mutants["refuted"], *mutants["unknown"]}
    return known != {each["mutant"] for each in revision.equivalent_mutants}


def _other_seeds(epoch: SeedEpoch) -> SeedEpoch:
    """An epoch that is never stored: private seeds that follow from ``epoch`` and are none of its own."""
    key = hmac.digest(epoch.key.encode(), b"audit", "sha256").hex()
    return SeedEpoch(suite_id=epoch.suite_id, number=epoch.number, key=key)
