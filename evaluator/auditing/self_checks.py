"""Trying the live evaluator with attacks, and keeping what came of it for the status page."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog
from django.conf import settings
from django.utils import timezone

from benchmark_tasks.domain.queries import current_version, goal_of, revisions_of
from benchmark_tasks.enums import AuditState, Protocol
from benchmark_tasks.models import Suite
from evaluator.attacks import corpus, goals, library
from evaluator.attacks.rounds import fire, open_range
from evaluator.attacks.upstream import upstream_graders
from evaluator.enums import SelfCheckKind
from evaluator.models import SelfCheck
from evaluator.queue.claims import job_label
from evaluator.queue.infrastructure_errors import fault_of
from evaluator.queue.queueing import RUNS, push_once
from evaluator.sandbox.configuration import EVALUATOR_VERSION, configured_sandbox, scratch_folder
from evaluator.sandbox.types import SandboxError
from evaluator.testing.graders import Grader, writable_copy
from evaluator.testing.types import Outcome
from submissions.answers.splice import splice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from benchmark_tasks.models import SeedEpoch, TaskRevision
    from evaluator.attacks.types import Attack, AttackResult
    from evaluator.testing.types import Verdict

log = structlog.get_logger(__name__)

SELF_CHECK_JOB: Final = "evaluator.jobs.self_check"
KEPT: Final = 30
"""How many rounds of each kind are kept."""
SOON: Final = timedelta(minutes=10)
"""When a round that could not be made is tried again."""
ENVIRONMENT: Final = "numpy"
"""What the corpus's own task is graded in; shipped with the site."""


class CanaryError(Exception):
    """The evaluator does not tell right from wrong, or cannot be tried. The message says what was found."""


def run_full(attacks: Sequence[Attack], *, told: Callable[[AttackResult], object], store: bool = True) -> SelfCheck:
    """Fire ``attacks`` (after the controls) at the configured sandbox by every protocol, and ``store`` what came of it.

    Raises :class:`SandboxError` when there is no sandbox.
    """
    sandbox = configured_sandbox()
    started = timezone.now()
    with open_range(sandbox, scratch_folder(), label=job_label(), more=upstream_graders) as target:
        results = fire((*corpus.CONTROLS, *attacks), target, told=told)
    check = _check(SelfCheckKind.FULL, started, [result.as_data() for result in results])
    if store:
        _keep(check)
    return check


def run_canary() -> SelfCheck:
    """Make sure that a right answer passes here and a stub fails, before anything is evaluated.

    Raises :class:`CanaryError` when that is not so or cannot be found out; what was found is kept in any case.
    """
    started = timezone.now()
    try:
        with open_range(configured_sandbox(), scratch_folder(), label=job_label(), private=False) as target:
            results = [result.as_data() for result in fire(corpus.CONTROLS, target)]
    except (SandboxError, OSError) as error:
        note_unavailable(error)
        raise CanaryError(str(error)) from None
    check = _keep(_check(SelfCheckKind.CANARY, started, results))
    if not check.ok:
        raise CanaryError("; ".join(_describe(row) for row in results if not row["repelled"]))
    return check


def note_unavailable(error: Exception) -> None:
    """Keep that nothing can be evaluated here, and why, for the status page."""
    check = _check(SelfCheckKind.CANARY, timezone.now(), [], error=str(error))
    check.cause = fault_of(error).public
    _keep(check)


def run_short() -> SelfCheck:
    """Try one of the scored tasks, whichever: golden answer, stub, forged report, golden search.

    It goes the way of every submission, private seeds included. Where there is no scored task, the corpus's own is
    taken. A fault of ours is kept as the round's error; nothing is raised.
    """
    started = timezone.now()
    try:
        scored = list(_scored())
        rows = _try_task(*secrets.choice(scored)) if scored else _try_corpus()
    except (SandboxError, OSError) as error:
        log.warning("self_check_failed", error=str(error))
        return _keep(_check(SelfCheckKind.SHORT, started, [], error=str(error)))
    check = _keep(_check(SelfCheckKind.SHORT, started, rows))
    (log.info if check.ok else log.error)("self_checked", repelled=check.repelled, of=len(rows))
    return check


def due() -> bool:
    """Whether the newest short round is older than ``SELF_CHECK_HOURS``; one that could not be made proves nothing."""
    newest = SelfCheck.objects.filter(kind=SelfCheckKind.SHORT).first()
    if newest is None:
        return True
    age = SOON if newest.error else timedelta(hours=settings.ENVIRONMENT.self_check_hours)
    return newest.finished < timezone.now() - age


def push_when_due(*, started: bool = False) -> bool:
    """Ask the workers for a short round when it is time or the instance has just ``started``; say whether it was.

    One that waits already is not asked for again, and a queue that does not answer is asked by the next sweep.
    """
    if not started and not due():
        return False
    return bool(push_once(RUNS, SELF_CHECK_JOB, job_id="self-check"))


def _scored() -> Iterable[tuple[TaskRevision, SeedEpoch]]:
    """The sealed tasks that count, of every suite's newest version, in order."""
    for suite in Suite.objects.order_by("pk"):
        version = current_version(suite)
        for revision in revisions_of(version) if version else ():
            counts = revision.runnable and revision.audit_state in (AuditState.PASSED, AuditState.WEAK)
            if version and counts and revision.protocol == Protocol.SEALED:
                yield revision, version.seed_epoch


def _try_corpus() -> list[dict[str, object]]:
    with open_range(configured_sandbox(), scratch_folder(), label=job_label()) as target:
        attacks = corpus.choose(names=("forged log", "golden search"))
        return [result.as_data() for result in fire((*corpus.CONTROLS, *attacks), target)]


def _try_task(revision: TaskRevision, epoch: SeedEpoch) -> list[dict[str, object]]:
    grader = Grader(revision, epoch)
    own = {path.name for path in grader.masked_tree.rglob("*")}
    hostile = {"forged report": goals.FORGED_REPORT, "golden search": goals.golden_search(own)}
    label = f"{job_label()}-check"
    rows = [
        _row("golden answer", revision, grader.grade(grader.reference_tree, label=label), passes=True),
        _row("stub", revision, grader.grade(grader.masked_tree, label=label)),
    ]
    for name, body in hostile.items():
        source = goals.with_body(revision.masked_source, body)
        with writable_copy(grader.masked_tree) as tree:
            goal_file = tree / revision.goal_file
            goal_file.write_bytes(splice(goal_file.read_bytes(), goal_of(revision), source.encode()))
            rows.append(_row(name, revision, grader.grade(tree, label=label)))
    return rows


def _row(name: str, revision: TaskRevision, verdict: Verdict, *, passes: bool = False) -> dict[str, object]:
    """In the form of ``AttackResult.as_data``. No reason is kept: it may quote a task's values."""
    escaped = any(line.startswith(library.ESCAPED) for line in verdict.log.splitlines())
    return {
        "attack": f"{name} ({revision.task.suite.slug} {revision.task.slug})",
        "group": "control" if name in ("golden answer", "stub") else "tampering",
        "protocol": revision.protocol,
        "expected": Outcome.PASSED.value if passes else "any failure",
        "outcome": "escaped" if escaped else verdict.outcome.value,
        "repelled": (verdict.outcome is Outcome.PASSED) is passes and not escaped,
        "reason": "",
        "seconds": round(verdict.seconds, 3),
    }


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
    """Store it, and forget the oldest of its kind."""
    check.save()
    old = SelfCheck.objects.filter(kind=check.kind).values_list("pk", flat=True)[KEPT:]
    SelfCheck.objects.filter(pk__in=list(old)).delete()
    return check


def _describe(row: dict[str, object]) -> str:
    return f"{row['attack']} must end with {row['expected']} and ended with {row['outcome']}: {row['reason']}"
