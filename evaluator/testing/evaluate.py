"""Evaluate one claimed run: candidate's tree, heartbeat, boxes, verdict."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import structlog
from django.conf import settings

from benchmark_tasks.domain import metrics
from benchmark_tasks.domain.content import tree_path
from evaluator.models import Attempt, TestRun
from evaluator.queue import leases
from evaluator.queue.database import retry
from evaluator.sandbox import task_environments
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.interface import RunCancelledError, SandboxError
from evaluator.testing import claims, results
from evaluator.testing.graders import Grader, writable_copy
from evaluator.testing.infrastructure_errors import infrastructure_error_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evaluator.queue.leases import Heartbeat
    from evaluator.testing.verdicts import Verdict
    from submissions.models import Implementation

log = structlog.get_logger(__name__)
_ENDED: Final = metrics.counter("runs_ended", "Test runs whose verdict was stored.", "outcome")


def evaluate_next(*, submission_id: int | None = None) -> bool:
    """Claim the next run, evaluate it and store the verdict. Returns False when nothing waits."""
    claim = claims.claim_next(worker=f"{settings.ENVIRONMENT.host_name}:{os.getpid()}", submission_id=submission_id)
    if claim is None:
        return False
    submission = TestRun.objects.values_list("implementation__submission", flat=True).get(pk=claim.run_id)
    with structlog.contextvars.bound_contextvars(submission=submission, run=claim.run_id, attempt=claim.number):
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
        found = infrastructure_error_of(error)
        log.warning("infra", reason=found.reason, everywhere=found.everywhere, exc_info=found.is_bug)
        retry(
            lambda: results.record_infra(claim, reason=found.reason, public=found.public, everywhere=found.everywhere)
        )


def _measure(claim: Attempt, heartbeat: Heartbeat) -> None:
    runs = TestRun.objects.select_related(
        "implementation__submission__suite_version__seed_epoch",
        "implementation__revision__task__suite",
        "implementation__revision__task__paper",
        "revision__task__suite",
        "revision__task__paper",
        "reevaluation__to_version__seed_epoch",
    )
    # A host that only runs tests may read no more of an answer and its submission (``evaluator.hosts.grants``).
    run = runs.only(
        *("revision", "reevaluation__to_version", "implementation__submission__suite_version"),
        *("implementation__revision", "implementation__files", "implementation__deleted"),
    ).get(pk=claim.run_id)
    implementation = run.implementation
    version = run.reevaluation.to_version if run.reevaluation else implementation.submission.suite_version
    grader = Grader(run.graded_revision, version.seed_epoch, heartbeat.lost)
    Attempt.objects.filter(token=claim.token).update(sandbox=configured_sandbox().name)
    environment, digest = grader.environment, grader.environment_digest()
    # Fetched before the time of the run begins: a slow storage is no error of the run.
    graded = run.graded_revision
    for found in (implementation.revision.repository_hash, graded.repository_hash, graded.grading_hash):
        tree_path(found)
    # Checked again when the verdict is stored; checking now avoids a useless run.
    task_environments.require_same(run, environment=environment, digest=digest)
    with _at_most(grader.most_seconds), candidate_tree(implementation) as tree:
        verdict = grader.grade(tree, label=claim.label)
        upstream_verdict = _upstream_verdict(grader, tree, label=claim.label)
    accepted = retry(
        lambda: results.accept(
            claim,
            verdict=verdict,
            upstream_verdict=upstream_verdict,
            environment=environment,
            environment_digest=digest,
        )
    )
    if accepted:
        metrics.count(_ENDED, verdict.outcome.value)
    # Pages show how many private test cases passed; the others' outcomes are for operators.
    private = Counter(case.outcome.value for case in verdict.cases if not case.public)
    log.info("run_ended", outcome=verdict.outcome.value, accepted=accepted, private=dict(private))


def _upstream_verdict(grader: Grader, tree: Path, *, label: str) -> Verdict | SandboxError | None:
    """Run the suite's own unit test beside a sealed one. Its verdict counts nowhere, so its errors do not matter."""
    if not grader.runs_upstream_test:
        return None
    try:
        return grader.grade_by_upstream_test(tree, label=f"{label}-upstream")
    except OverdueError:
        raise
    except SandboxError as error:
        log.warning("no_verdict_of_upstream_test", reason=str(error))
        return error


class OverdueError(SandboxError):
    """A run took longer than all its boxes may together: something outside of the boxes hangs."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise :class:`OverdueError` here after ``seconds``.

    The queue has no time limit for a job, since it does not know which run the job will claim. Only the main thread
    receives signals, and workers and commands evaluate there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        msg = f"The run took more than {seconds:.0f} seconds, the most that all of its boxes may take together."
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
    """Make a fresh copy of the masked repository with the answer's files in it; remove it afterwards."""
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
    """Remove ``place`` and its parents up to ``root`` if empty, as git does.

    An answer may put a file in a removed folder's place, which fails while the folder exists.
    """
    while place != root and place.is_dir() and not any(place.iterdir()):
        place.rmdir()
        place = place.parent
