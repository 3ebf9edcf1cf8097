"""Evaluating one claimed run: candidate's tree, heartbeat, boxes, verdict."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.db import close_old_connections, connection
from django.db.utils import OperationalError

from benchmark_tasks.domain.content import tree_path
from benchmark_tasks.domain.seeds import private_seeds
from evaluator.domain import claims, results
from evaluator.domain.configuration import configured_sandbox, golden_folder, sealed_task, worker_name
from evaluator.domain.golden import FileGoldenStore
from evaluator.grading.sealed import GoldenError, grade
from evaluator.models import Attempt, TestRun
from evaluator.sandbox.types import RunCancelledError, SandboxError
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.domain.claims import Claim
    from submissions.models import Implementation

log = structlog.get_logger(__name__)


def evaluate_next(*, submission_id: int | None = None) -> bool:
    """Claim the next run, evaluate it and decide it. False when nothing waits."""
    claim = claims.claim_next(worker=worker_name(), submission_id=submission_id)
    if claim is None:
        return False
    with structlog.contextvars.bound_contextvars(run=claim.run_id, attempt=claim.number):
        evaluate(claim)
    return True


def evaluate(claim: Claim) -> None:
    """Measure the claimed run. Every fault of ours becomes an infra attempt with its reason; none escapes."""
    try:
        with Heartbeat(claim) as heartbeat:
            _measure(claim, heartbeat)
    except RunCancelledError:
        log.info("run_stopped", why="cancelled, or its lease was lost")
    except GoldenError:
        # It names private seeds and quotes the golden code: for the operator's log, never for a page.
        log.exception("reference_failed")
        results.record_infra(claim, reason="The task's reference could not be run; the worker's log says why.")
    except (SandboxError, OSError) as error:
        log.warning("infra", error=str(error))
        results.record_infra(claim, reason=str(error))
    except KeyboardInterrupt:
        results.release(claim, reason="The worker was interrupted.")
        raise
    except Exception as error:  # a bug of ours must be retried and shown, never a candidate's failure
        log.exception("evaluator_bug")
        results.record_infra(claim, reason=f"The evaluator failed ({type(error).__name__}: {error}); see its log.")


def _measure(claim: Claim, heartbeat: Heartbeat) -> None:
    run = TestRun.objects.select_related(
        "implementation__submission__suite_version__seed_epoch", "implementation__revision__task"
    ).get(pk=claim.run_id)
    implementation = run.implementation
    revision = implementation.revision
    sandbox = configured_sandbox()
    Attempt.objects.filter(token=claim.token).update(sandbox=sandbox.name)
    digest = _pin_environment(implementation.submission, sandbox.environment_digest(revision.environment))
    task = sealed_task(revision)
    with candidate_tree(implementation, claim.label) as tree:
        verdict = grade(
            sandbox=sandbox,
            task=task,
            candidate_tree=tree,
            private_seeds=private_seeds(
                implementation.submission.suite_version.seed_epoch.key,
                revision.task.slug,
                task.check.private_seed_count,
                public_seeds=task.check.public_seeds,
            ),
            golden=FileGoldenStore(golden_folder()),
            label=claim.label,
            cancelled=heartbeat.lost,
        )
    accepted = results.accept(claim, verdict=verdict, environment_digest=digest)
    log.info("run_ended", outcome=verdict.outcome.value, accepted=accepted)


def _pin_environment(submission: Submission, digest: str) -> str:
    """The first run decides in which environment all runs of a submission are measured. Raises when it is gone."""
    Submission.objects.filter(pk=submission.pk, environment_digest="").update(environment_digest=digest)
    pinned = Submission.objects.values_list("environment_digest", flat=True).get(pk=submission.pk)
    if pinned != digest:
        msg = (
            f"This submission is pinned to the environment {pinned[:12]}, and this worker offers {digest[:12]}: the "
            "interpreter, a package or the image changed since its first run. Bring the old environment back, or "
            "cancel the submission and submit again."
        )
        raise SandboxError(msg)
    return digest


@contextmanager
def candidate_tree(implementation: Implementation, label: str) -> Iterator[Path]:
    """A fresh copy of the masked repository with the answer's files in it, removed afterwards."""
    folder = Path(settings.DATA_DIR) / "work" / label
    shutil.rmtree(folder, ignore_errors=True)
    try:
        shutil.copytree(
            tree_path(implementation.revision.repository_hash), folder, copy_function=shutil.copyfile, symlinks=True
        )
        for path in (folder, *(found for found in folder.rglob("*") if found.is_dir())):
            path.chmod(0o755)
        for name in implementation.deleted:
            (folder / name).unlink(missing_ok=True)
            _drop_empty_folders((folder / name).parent, folder)
        for name, text in (implementation.files or {}).items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _drop_empty_folders(place: Path, root: Path) -> None:
    """Remove ``place`` and its parents up to ``root`` where nothing is left in them, as git does.

    An answer may put a file where a folder was; with the folder still there the copy would fail as a fault of ours.
    """
    while place != root and place.is_dir() and not any(place.iterdir()):
        place.rmdir()
        place = place.parent


class Heartbeat:
    """Renews a claim's lease from a thread of its own while the box runs, and notices when the claim is lost."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=claim.label, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def lost(self) -> bool:
        """Whether the run was cancelled or given to another attempt; the sandbox asks and kills the box."""
        return self._lost.is_set()

    def _beat(self) -> None:
        # Cancelling must reach the box within five seconds, however long the lease is.
        pause = min(claims.lease().total_seconds() / 3, 2.0)
        try:
            while not self._stop.wait(pause):
                close_old_connections()
                try:
                    if not claims.extend(self._claim):
                        self._lost.set()
                        return
                except OperationalError as error:
                    # The database is away: keep measuring, the lease itself decides when it is back.
                    log.warning("heartbeat_failed", error=str(error))
        finally:
            connection.close()
