"""Real workers, and what is left when one is killed in the middle of an evaluation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from evaluator.queue import leases
from evaluator.queue.queueing import plan
from evaluator.queue.reconcile import reconcile
from submissions.enums import SubmissionState
from tests.benchmark_tasks.factories import MASKED
from tests.evaluator.factories import SLOW_TRIALS, QueuedSubmissionFactory, slow_submission
from tests.evaluator.processes import (
    PATIENCE_SECONDS,
    PROJECT_ROOT,
    children_of,
    environment,
    is_running,
    processes_of_boxes,
    running,
    wait_until,
)
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.bubblewrap,
    pytest.mark.redis,
    pytest.mark.xdist_group("boxes-of-runs"),
]


LEASE = {"LEASE_SECONDS": "5", "INFRA_RETRY_SECONDS": "0"}
"""What the workers have; the sweeps of these tests run here."""


@pytest.fixture(autouse=True)
def no_pause(settings: Any) -> None:
    """What a worker lost is tried again at once."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, infra_retry_seconds=0)


def horse_of(worker: int) -> int:
    """The process of the job in hand. What killed ones have left ends below the worker, too, before it is gone."""
    command = Path(f"/proc/{worker}/cmdline").read_bytes()
    (horse,) = (pid for pid in children_of(worker) if Path(f"/proc/{pid}/cmdline").read_bytes() == command)
    return horse


def endless_run(version: SuiteVersion) -> TestRun:
    """A queued run whose box ends by its wall time only."""
    submission = QueuedSubmissionFactory(suite_version=version, answers=False)
    text = MASKED.replace("raise NotImplementedError", "import time; time.sleep(60)", 1)
    ImplementationFactory(
        submission=submission, revision=version.revisions.get(task__index=1), files={"scoring/core.py": text}
    )
    (run_id,) = plan(submission.pk)
    return TestRun.objects.get(pk=run_id)


def test_after_sigkill_in_mid_evaluation_every_run_ends_once(
    small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str
) -> None:
    """Worker and work-horse at once; the chaos tests kill them one by one."""
    submission = slow_submission(small_version)
    plan(submission.pk)
    with running("worker", "--name", "first", **LEASE) as first:
        wait_until(lambda: TestRun.objects.filter(state=RunState.RUNNING).exists(), "a run to begin")
        wait_until(lambda: bool(processes_of_boxes()), "a box to begin")
        horses = children_of(first.pid)
        assert horses
        for pid in (first.pid, *horses):
            os.kill(pid, signal.SIGKILL)
        with running("worker", "--name", "second", **LEASE):

            def scored() -> bool:
                reconcile()
                submission.refresh_from_db()
                return submission.state == SubmissionState.SCORED

            wait_until(scored, "the submission to be scored")
    outcomes = TestRun.objects.order_by("implementation__trial").values_list("state", "outcome")
    assert list(outcomes) == [(RunState.DONE, "passed"), (RunState.DONE, "wrong_output")] * (SLOW_TRIALS // 2)
    accepted = Attempt.objects.filter(state=AttemptState.ACCEPTED).values_list("run_id", flat=True)
    assert sorted(accepted) == sorted(TestRun.objects.values_list("pk", flat=True))
    assert not Attempt.objects.filter(state=AttemptState.RUNNING).exists()
    wait_until(lambda: not processes_of_boxes(), "the last box to be gone")
    wait_until(lambda: not any(map(is_running, horses)), "the first work-horse to end")
    real_sandbox.reap(keep=lambda _: False)
    assert real_sandbox.reap(keep=lambda _: False) == 0


def test_a_run_that_kills_its_worker_is_held_after_three_tries(
    small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str
) -> None:
    run = endless_run(small_version)
    with running("worker", **LEASE) as worker:
        for number in (1, 2, 3):
            under_way = TestRun.objects.filter(state=RunState.RUNNING, attempts__number=number)
            wait_until(under_way.exists, f"try {number} to begin")
            os.kill(horse_of(worker.pid), signal.SIGKILL)
            # As if its lease had run out meanwhile.
            TestRun.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            assert reconcile().expired == 1
    run.refresh_from_db()
    submission = run.implementation.submission
    assert (run.state, run.infra_count) == (RunState.HELD, 3)
    assert (submission.state, submission.held_reason) == (SubmissionState.HELD, leases.LEASE_LOST)
    assert list(Attempt.objects.values_list("state", flat=True)) == [AttemptState.INFRA] * 3


def test_a_worker_and_its_job_that_are_told_to_stop_give_the_run_back_and_nothing_counts(
    small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str
) -> None:
    """As an init system does it; ``test_worker_stop`` tells the worker twice."""
    run = endless_run(small_version)
    with running("worker", **LEASE) as worker:
        # The worker's own check has boxes too.
        wait_until(lambda: TestRun.objects.filter(state=RunState.RUNNING).exists(), "the run to begin")
        wait_until(lambda: bool(processes_of_boxes()), "a box to begin")
        horses = children_of(worker.pid)
        worker.terminate()
        os.kill(horses[0], signal.SIGTERM)
        worker.wait(timeout=PATIENCE_SECONDS)
    run.refresh_from_db()
    assert (run.state, run.token, run.infra_count, run.not_before) == (RunState.QUEUED, None, 0, None)
    attempt = Attempt.objects.get()
    assert (attempt.state, attempt.reason) == (AttemptState.LOST, "The worker was interrupted.")
    wait_until(lambda: not processes_of_boxes(), "the box to be gone")


def test_a_worker_does_what_waits_and_ends(small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str) -> None:
    submission = slow_submission(small_version)
    plan(submission.pk)
    subprocess.run(
        [sys.executable, "manage.py", "worker", "--burst"],
        cwd=PROJECT_ROOT, env=environment(), check=True, timeout=PATIENCE_SECONDS, capture_output=True,
    )  # fmt: skip
    submission.refresh_from_db()
    assert submission.state == SubmissionState.SCORED


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, "The queue cannot be reached"),
        ({"SANDBOX_PYTHON": "/nowhere/python3", "EVALUATOR_SANDBOX": "bubblewrap"}, "No worker was started"),
    ],
)
def test_a_worker_that_cannot_work_says_why(
    changes: dict[str, str], message: str, real_sandbox: Sandbox, redis_url: str
) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "worker", "--burst"],
        cwd=PROJECT_ROOT, env=environment(**changes), check=False, timeout=PATIENCE_SECONDS, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
