"""Test the live evaluator with attacks, and store the results for the status page."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from django.conf import settings
from django.utils import timezone

from benchmark_tasks.domain.bucket import StorageUnavailableError
from benchmark_tasks.domain.queries import current_version, goal_of, revisions_of
from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import Suite
from evaluator.auditing.canary_round import (
    ATTACKS,
    FORGED_REPORT,
    GOAL,
    GOLDEN_SEARCH,
    MASKED,
    PRIVATE_SEEDS,
    RIGHT_ANSWER,
    SIGNATURE,
    STUB,
    hostile_file,
    write_task,
    write_tree,
)
from evaluator.enums import SelfCheckKind
from evaluator.models import SelfCheck
from evaluator.queue.processes import job_label
from evaluator.queue.pushing import RUNS, push_once
from evaluator.sandbox.configuration import EVALUATOR_VERSION, configured_sandbox, golden_folder, scratch_folder
from evaluator.sandbox.interface import SandboxError
from evaluator.testing.golden import GoldenFolder
from evaluator.testing.graders import Grader, retried, writable_copy
from evaluator.testing.infrastructure_errors import infrastructure_error_of
from evaluator.testing.sealed import grade

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from benchmark_tasks.models import SeedEpoch, TaskRevision
    from evaluator.auditing.canary_round import Attack

log = structlog.get_logger(__name__)

SELF_CHECK_JOB: Final = "evaluator.jobs.self_check"
KEPT: Final = 30
"""How many rounds of each kind are stored."""
SOON: Final = timedelta(minutes=10)
"""How soon a round that could not run is tried again."""
ENVIRONMENT: Final = "numpy"
"""The environment of the site's own task."""


class CanaryError(Exception):
    """The evaluator misjudges answers or cannot be tested. The message gives the finding."""


def run_full(
    attacks: Sequence[Attack] = ATTACKS, *, report: Callable[[dict[str, object]], object] = lambda _: None
) -> SelfCheck:
    """Run ``attacks`` (after the controls) against the configured sandbox, and store the round if it is complete.

    ``report`` gets each row as it is made. Raises :class:`SandboxError` when there is no sandbox.
    """
    started = timezone.now()
    rows = []
    for row in _fire((RIGHT_ANSWER, MASKED, *attacks)):
        rows.append(row)
        report(row)
    check = _check(SelfCheckKind.FULL, started, rows)
    return _keep(check) if len(attacks) == len(ATTACKS) else check


def run_canary() -> SelfCheck:
    """Check that a right answer passes here and a stub fails, before anything is evaluated.

    Raises :class:`CanaryError` if the check fails or cannot be made; the finding is stored in every case.
    """
    started = timezone.now()
    try:
        rows = run_controls()
    except (SandboxError, OSError) as error:
        note_unavailable(error)
        raise CanaryError(str(error)) from None
    check = _keep(_check(SelfCheckKind.CANARY, started, rows))
    if not check.ok:
        raise CanaryError(describe_failures(rows))
    return check


def run_controls() -> list[dict[str, object]]:
    """Grade a right answer and a stub in boxes and return their rows. Nothing is stored.

    Raises ``SandboxError`` or ``OSError`` when they cannot be graded.
    """
    return list(_fire((RIGHT_ANSWER, MASKED), private=False))


def describe_failures(rows: Iterable[dict[str, object]]) -> str:
    """Return how each row that did not end as expected ended; empty if all did."""
    return "; ".join(
        f"{row['attack']} must end with {row['expected']} and ended with {row['outcome']}: {row['reason']}"
        for row in rows
        if not row["repelled"]
    )


def note_unavailable(error: Exception) -> None:
    """Store that nothing can be evaluated here, and why, for the status page."""
    check = _check(SelfCheckKind.CANARY, timezone.now(), [], error=str(error))
    check.cause = infrastructure_error_of(error).public
    _keep(check)


def run_short() -> SelfCheck:
    """Test a random scored task, or the site's own if there is none: golden answer, stub, forged report, golden search.

    It is graded like a submission, private seeds included. An infrastructure error is stored as the round's error;
    nothing is raised.
    """
    started = timezone.now()
    try:
        scored = list(_scored())
        attacks = (FORGED_REPORT, GOLDEN_SEARCH)
        rows = _try_task(*secrets.choice(scored), attacks) if scored else list(_fire((RIGHT_ANSWER, MASKED, *attacks)))
    except (SandboxError, OSError, StorageUnavailableError) as error:
        log.warning("self_check_failed", error=str(error))
        return _keep(_check(SelfCheckKind.SHORT, started, [], error=str(error)))
    check = _keep(_check(SelfCheckKind.SHORT, started, rows))
    (log.info if check.ok else log.error)("self_checked", repelled=check.repelled, of=len(rows))
    return check


def run_suite(
    suite: Suite, attacks: Sequence[Attack], *, report: Callable[[dict[str, object]], object] = lambda _: None
) -> SelfCheck:
    """Test every counted sealed task of ``suite``: golden answer, stub, and ``attacks``. Nothing is stored.

    ``report`` gets each row as it is made. Raises ``SandboxError`` for infrastructure errors.
    """
    started, rows = timezone.now(), []
    for revision, epoch in _scored():
        if revision.task.suite_id == suite.pk:
            for row in _try_task(revision, epoch, attacks):
                report(row)
                rows.append(row)
    return _check(SelfCheckKind.FULL, started, rows)


def due() -> bool:
    """Return whether the newest short round is older than ``SELF_CHECK_HOURS``; failed rounds are repeated sooner."""
    newest = SelfCheck.objects.filter(kind=SelfCheckKind.SHORT).first()
    if newest is None:
        return True
    age = SOON if newest.error else timedelta(hours=settings.ENVIRONMENT.self_check_hours)
    return newest.finished < timezone.now() - age


def push_when_due(*, started: bool = False) -> bool:
    """Queue a short round when it is due or the instance has just ``started``; return whether a job was added.

    A round that is queued already is not queued again; if the queue does not answer, the next sweep retries.
    """
    if not started and not due():
        return False
    return bool(push_once(RUNS, SELF_CHECK_JOB, job_id="self-check"))


def _scored() -> Iterable[tuple[TaskRevision, SeedEpoch]]:
    """Yield the counted sealed tasks of every suite's newest version, in order."""
    for suite in Suite.objects.order_by("pk"):
        version = current_version(suite)
        for revision in revisions_of(version) if version else ():
            counts = revision.runnable and revision.audit_state in (AuditState.PASSED, AuditState.WEAK)
            if version and counts and revision.protocol == Protocol.SEALED:
                yield revision, version.seed_epoch


def _fire(attacks: Iterable[Attack], *, private: bool = True) -> Iterator[dict[str, object]]:
    """Grade each of ``attacks`` as an answer to the site's own task; without ``private`` by the public seeds alone."""
    sandbox = configured_sandbox()
    label = f"{job_label()}-{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory(prefix="attacks-", dir=scratch_folder()) as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        task = write_task(folder / "task")
        for attack in attacks:
            tree = task.reference_repository if attack is RIGHT_ANSWER else task.repository
            if attack.body:
                tree = folder / secrets.token_hex(4)
                text = hostile_file(attack, STUB.encode(), GOAL, STUB[STUB.index(SIGNATURE) :], own=())
                write_tree(tree, text.decode())
            verdict = retried(
                partial(
                    grade,
                    sandbox=sandbox,
                    task=replace(task, check=replace(task.check, wall_seconds=attack.wall_seconds)),
                    candidate_tree=tree,
                    private_seeds=PRIVATE_SEEDS if private else (),
                    golden=GoldenFolder(golden_folder()),
                    label=label,
                )
            )
            yield attack.result(verdict)


def _try_task(revision: TaskRevision, epoch: SeedEpoch, attacks: Iterable[Attack]) -> list[dict[str, object]]:
    grader = Grader(revision, epoch)
    own = {path.name for path in grader.masked_tree.rglob("*")}
    label = f"{job_label()}-check"
    of = f"{revision.task.suite.slug} {revision.task.slug}"
    verdicts = [
        (RIGHT_ANSWER, grader.grade(grader.reference_tree, label=label)),
        (MASKED, grader.grade(grader.masked_tree, label=label)),
    ]
    masked = (grader.masked_tree / revision.goal_file).read_bytes()
    for attack in attacks:
        with writable_copy(grader.masked_tree) as tree:
            text = hostile_file(attack, masked, goal_of(revision), revision.masked_source, own=own)
            (tree / revision.goal_file).write_bytes(text)
            verdicts.append((attack, grader.grade(tree, label=label)))
    return [attack.result(verdict, protocol=revision.protocol, of=of) for attack, verdict in verdicts]


def _check(kind: SelfCheckKind, started: datetime, rows: list[dict[str, object]], *, error: str = "") -> SelfCheck:
    name, digest = "", ""
    try:
        sandbox = configured_sandbox()
        name, digest = sandbox.name, sandbox.environment_digest(ENVIRONMENT)
    except SandboxError as reason:
        error = error or str(reason)
    return SelfCheck(
        kind=kind,
        sandbox=name,
        environment_digest=digest,
        evaluator_version=EVALUATOR_VERSION,
        results=rows,
        error=error,
        started=started,
        finished=timezone.now(),
    )


def _keep(check: SelfCheck) -> SelfCheck:
    """Store a check, and delete the oldest of its kind."""
    check.save()
    old = SelfCheck.objects.filter(kind=check.kind).values_list("pk", flat=True)[KEPT:]
    SelfCheck.objects.filter(pk__in=list(old)).delete()
    return check
