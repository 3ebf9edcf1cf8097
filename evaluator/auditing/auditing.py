"""Decide which task revisions wait for an audit, audit them, and store the findings (docs/design/verdicts.md)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from django.db import transaction

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.known_answers import digest_of, known_answers
from benchmark_tasks.domain.queries import current_version, revisions_of
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SeedEpoch, Suite, TaskRevision
from evaluator.auditing.audit_result import AuditResult
from evaluator.auditing.auditor import measure
from evaluator.auditing.mutants import fingerprint
from evaluator.auditing.released import taken_over
from evaluator.queue.pushing import AUDITS, push_once
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.task_environments import environment_of
from evaluator.signals import revision_audited
from evaluator.testing.infrastructure_errors import infrastructure_error_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


log = structlog.get_logger(__name__)

_FAILED = (AuditState.FAILED, AuditState.INCOMPLETE)


def waiting(
    suites: Iterable[Suite] | None = None,
    *,
    tasks: Collection[str] = (),
    again: bool = False,
    failed: bool = False,
    full: bool = False,
) -> list[tuple[TaskRevision, SeedEpoch]]:
    """Return revisions to audit, each with the epoch of its private seeds.

    These are runnable revisions in the newest version of their suite that are unaudited, or whose declared equivalent
    mutants or known answers have changed since. ``again`` selects all of them, ``failed`` those whose audit failed or
    stopped at an incomplete environment, ``full`` also those whose audit was taken over from a release. ``tasks`` are
    slugs, or empty for all.

    An audit made with another environment or evaluator is shown as outdated, but not repeated automatically: the scores
    that depend on it would change without a request.
    """
    versions = [current_version(suite) for suite in (Suite.objects.all() if suites is None else suites)]
    return [
        (revision, version.seed_epoch)
        for version in versions
        if version
        for revision in revisions_of(version)
        if not revision.not_runnable_reasons
        and (not tasks or revision.task.slug in tasks)
        and (
            revision.audit_state in _FAILED
            if failed
            else again
            or revision.audit_state == AuditState.UNAUDITED
            or _declarations_changed(revision)
            or _answers_changed(revision)
            or (full and "taken_over" in revision.audit)
        )
    ]


def ready_for_audit() -> list[TaskRevision]:
    """Return the waiting revisions that have an environment; store on the others why they cannot be audited."""
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
    """Store on unaudited ``revisions`` why they cannot be audited, as public text; empty removes it."""
    for revision in revisions:
        if revision.audit.get("obstacle", "") != why:
            audit = {key: value for key, value in revision.audit.items() if key != "obstacle"}
            unaudited = TaskRevision.objects.filter(pk=revision.pk, audit_state=AuditState.UNAUDITED)
            unaudited.update(audit=audit | ({"obstacle": why} if why else {}))


def audit_waiting_revision(revision_id: int) -> AuditResult | None:
    """Audit one revision if it still waits and no released audit holds for it, else return None.

    Raises ``SandboxError`` or ``StorageUnavailableError`` for infrastructure errors.
    """
    for revision, epoch in waiting():
        if revision.pk == revision_id and not take_over(revision):
            try:
                return audit_revision(revision, epoch)
            except (SandboxError, StorageUnavailableError) as error:
                note_obstacle(infrastructure_error_of(error).public, [revision])
                raise
    return None


def audit_revision(revision: TaskRevision, epoch: SeedEpoch) -> AuditResult:
    """Audit ``revision`` in real boxes and store the result. Raises ``SandboxError`` for infrastructure errors."""
    result, facts = measure(revision, epoch)
    store(revision, result, facts)
    return result


def take_over(revision: TaskRevision) -> bool:
    """Store the audit that was made for the release if it holds for ``revision`` here; return whether it does."""
    audit = taken_over(revision)
    if audit is not None:
        _store(revision, AuditState.PASSED, audit)
    return audit is not None


def store(revision: TaskRevision, result: AuditResult, facts: dict[str, Any]) -> None:
    """Store an audit's result on its revision; sends ``revision_audited`` after commit."""
    _store(revision, state_of(result), {**result.as_data(), **facts})


def _store(revision: TaskRevision, state: AuditState, audit: dict[str, Any]) -> None:
    # How evaluators before version 5 ran upstream's test: pages of their results still show it.
    former = {"mode": revision.audit["mode"]} if "mode" in revision.audit else {}
    with transaction.atomic():
        TaskRevision.objects.filter(pk=revision.pk).update(audit_state=state, audit={**audit, **former})
        revision.refresh_from_db(fields=["audit_state", "audit"])
        transaction.on_commit(partial(revision_audited.send_robust, sender=TaskRevision, revision=revision))
    log.info("audited", task=str(revision), state=revision.audit_state, reasons=audit["reasons"])


def state_of(result: AuditResult) -> AuditState:
    """Return the audit state that follows from a result."""
    if result.missing:
        return AuditState.INCOMPLETE
    if result.reasons:
        return AuditState.FAILED
    return AuditState.WEAK if result.weakness else AuditState.PASSED


def _declarations_changed(revision: TaskRevision) -> bool:
    """Return whether the mutants declared equivalent have changed since the audit, which changes the kill rate."""
    mutants = revision.audit.get("mutants")
    if not mutants:
        return False
    known = {*(each["id"] for each in mutants["equivalents"]), *mutants["refuted"], *mutants["unknown"]}
    return set(map(fingerprint, known)) != {fingerprint(each["mutant"]) for each in revision.equivalent_mutants}


def _answers_changed(revision: TaskRevision) -> bool:
    """Return whether the known answers have changed since the audit. Audits before version 6 tried none."""
    return bool(revision.audit.get("answers_digest", digest_of(())) != digest_of(known_answers(revision)))


def push_audit() -> int:
    """Queue the audit of every waiting revision with an environment; return how many jobs were added.

    Each revision has its own job, so that the workers share them.
    """
    added = 0
    for revision in ready_for_audit():
        pushed = push_once(AUDITS, "evaluator.jobs.audit_revision", revision.pk, job_id=f"audit-{revision.pk}")
        if pushed is None:
            break
        added += pushed
    return added
