"""Real workers, and what is left when one is killed in the middle of an evaluation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from evaluator.domain.queueing import plan
from evaluator.domain.reconcile import reconcile
from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from submissions.enums import SubmissionState
from tests.evaluator.factories import SLOW_TRIALS, slow_submission
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

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.bubblewrap,
    pytest.mark.redis,
    pytest.mark.xdist_group("boxes-of-runs"),
]


@pytest.mark.parametrize("victims", ["worker", "work-horse", "both"])
def test_after_sigkill_in_mid_evaluation_every_run_ends_once(
    victims: str, small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str
) -> None:
    submission = slow_submission(small_version)
    plan(submission.pk)
    settings = {"LEASE_SECONDS": "5", "INFRA_RETRY_SECONDS": "0"}
    with running("worker", "--name", "first", **settings) as first:
        wait_until(lambda: TestRun.objects.filter(state=RunState.RUNNING).exists(), "a run to begin")
        wait_until(lambda: bool(processes_of_boxes()), "a box to begin")
        horses = children_of(first.pid)
        assert horses
        for pid in {"worker": [first.pid], "work-horse": horses, "both": [first.pid, *horses]}[victims]:
            os.kill(pid, signal.SIGKILL)
        with running("worker", "--name", "second", **settings):

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
