"""Evaluating one claimed run: candidate's tree, heartbeat, boxes, verdict."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from benchmark_tasks.domain.content import tree_path
from evaluator.models import Attempt, TestRun
from evaluator.queue import leases
from evaluator.queue.database import retry
from evaluator.sandbox import task_environments
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.types import RunCancelledError, SandboxError
from evaluator.testing import claims, results
from evaluator.testing.graders import Grader, writable_copy
from evaluator.testing.infrastructure_errors import fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from evaluator.queue.leases import Heartbeat
    from evaluator.testing.types import Verdict
    from submissions.models import Implementation

log = structlog.get_logger(__name__)


def evaluate_next(*, submission_id: int | None = None) -> bool:
    """Claim the next run, evaluate it and decide it. False when nothing waits."""
    claim = claims.claim_next(worker=f"{os.uname().nodename}:{os.getpid()}", submission_id=submission_id)
    if claim is None:
        return False
    with structlog.contextvars.bound_contextvars(run=claim.run_id, attempt=claim.number):
        evaluate(claim)
    return True


def evaluate(claim: Attempt) -> None:
    """Measure the claimed run. Every infrastructure error becomes an infra attempt with its reason; none escapes."""
    try:
        with leases.heartbeat(TestRun, claim.run_id, claim.token) as heartbeat:
            _measure(claim, heartbeat)
    except RunCancelledError:
        log.info("run_stopped", why="cancelled, or its lease was lost")
    except KeyboardInterrupt:
        results.release(claim, reason="The worker was interrupted.")
        raise
    except Exception as error:  # an error of our own code must be retried and shown, never a candidate's failure
        fault = fault_of(error)
        log.warning("infra", reason=fault.reason, everywhere=fault.everywhere, exc_info=fault.is_bug)
        retry(
            lambda: results.record_infra(claim, reason=fault.reason, public=fault.public, everywhere=fault.everywhere)
        )


def _measure(claim: Attempt, heartbeat: Heartbeat) -> None:
    run = TestRun.objects.select_related(
        "implementation__submission__suite_version__seed_epoch",
        "implementation__revision__task__suite",
        "implementation__revision__task__paper",
        "revision__task__suite",
        "revision__task__paper",
        "reevaluation__to_version__seed_epoch",
    ).get(pk=claim.run_id)
    implementation = run.implementation
    version = run.reevaluation.to_version if run.reevaluation else implementation.submission.suite_version
    grader = Grader(run.graded_revision, version.seed_epoch)
    Attempt.objects.filter(token=claim.token).update(sandbox=configured_sandbox().name)
    environment, digest = grader.environment, grader.environment_digest()
    # Looked at again when the verdict is stored; now it saves the effort.
    task_environments.require_same(run, environment=environment, digest=digest)
    with _at_most(grader.most_seconds), candidate_tree(implementation) as tree:
        verdict = grader.grade(tree, label=claim.label, cancelled=heartbeat.lost)
        beside = _beside(grader, tree, label=claim.label, cancelled=heartbeat.lost)
    accepted = retry(
        lambda: results.accept(
            claim, verdict=verdict, beside=beside, environment=environment, environment_digest=digest
        )
    )
    # Pages show how many private cases passed; how the others ended is for operators.
    private = Counter(case.outcome.value for case in verdict.cases if not case.public)
    log.info("run_ended", outcome=verdict.outcome.value, accepted=accepted, private=dict(private))


def _beside(grader: Grader, tree: Path, *, label: str, cancelled: Callable[[], bool]) -> Verdict | SandboxError | None:
    """What the suite's own unit test says beside a sealed one of ours. It counts nowhere, so no error of it matters."""
    if not grader.runs_upstream_test:
        return None
    try:
        return grader.grade_by_upstream_test(tree, label=f"{label}-upstream", cancelled=cancelled)
    except OverdueError:
        raise
    except SandboxError as error:
        log.warning("no_verdict_of_upstream_test", reason=str(error))
        return error


class OverdueError(SandboxError):
    """A run took longer than all its boxes may together: something outside of them hangs."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise :class:`OverdueError` here after ``seconds``.

    The queue knows no limit for a job, since it does not know which run the job will claim. Signals come to the main
    thread alone, which is where workers and commands evaluate.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        msg = f"The run took more than {seconds:.0f} seconds, which is more than all of its boxes may take together."
        raise OverdueError(msg, public="the evaluation hung")

    before = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def candidate_tree(implementation: Implementation) -> Iterator[Path]:
    """A fresh copy of the masked repository with the answer's files in it, removed afterwards."""
    with writable_copy(tree_path(implementation.revision.repository_hash)) as folder:
        for name in implementation.deleted:
            (folder / name).unlink(missing_ok=True)
            _drop_empty_folders((folder / name).parent, folder)
        for name, text in (implementation.files or {}).items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        yield folder


def _drop_empty_folders(place: Path, root: Path) -> None:
    """Remove ``place`` and its parents up to ``root`` where nothing is left in them, as git does.

    An answer may put a file where a folder was, which could not be copied with the folder still there.
    """
    while place != root and place.is_dir() and not any(place.iterdir()):
        place.rmdir()
        place = place.parent
