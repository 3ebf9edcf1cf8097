"""The shipped suite, and a worker's sudden death, on an instance with ``EVALUATOR_SANDBOX=docker``."""

from __future__ import annotations

import importlib
import os
import signal
from typing import TYPE_CHECKING

import pytest

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from evaluator.queue.queueing import plan
from evaluator.queue.reconcile import reconcile
from evaluator.sandbox.docker_client import LABEL, OWNER_LABEL
from evaluator.sandbox.docker_engine import DockerSandbox
from submissions.domain.samples import build_sample
from submissions.enums import SubmissionState
from submissions.models import Submission
from tests.evaluator.commands import submit
from tests.evaluator.factories import SLOW_TRIALS, slow_submission
from tests.evaluator.processes import children_of, running, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.xdist_group("boxes-of-runs"),
    pytest.mark.usefixtures("docker_is_configured"),
]

WORKER = {"EVALUATOR_SANDBOX": "docker", "LEASE_SECONDS": "5", "INFRA_RETRY_SECONDS": "0"}


def containers(*, running_only: bool = False) -> list[str]:
    """The labels of the containers that workers of this test's attempts own, by the engine's account."""
    workers = {worker.rpartition(":")[2] for worker in Attempt.objects.values_list("worker", flat=True)}
    client = importlib.import_module("docker").from_env()
    found = client.containers.list(all=not running_only, filters={"label": LABEL}, ignore_removed=True)
    labels = [str(box.labels[LABEL]) for box in found if box.labels[OWNER_LABEL].split("-")[1] in workers]
    client.close()
    return labels


@pytest.mark.parametrize(("kind", "passed"), [("mixed", 3)])
def test_samples_have_the_outcomes_that_they_have_in_bubblewrap(
    kind: str, passed: int, lmr_mini: SuiteVersion, docker_is_configured: DockerSandbox, tmp_path: Path
) -> None:
    """``sample.expected`` is what test_submit_command finds in bubblewrap."""
    sample = build_sample(kind, lmr_mini)
    bundle = tmp_path / "sample.zip"
    bundle.write_bytes(sample.content)
    code, result = submit(str(bundle), "--wait")
    assert (code, result["state"], result["tests"]) == (0, "scored", {"passed": passed, "total": 9})
    assert {task["task"]: task["outcome"] for task in result["tasks"]} == sample.expected
    assert Submission.objects.get().environment_digest == docker_is_configured.environment_digest("numpy")
    assert containers() == []


@pytest.mark.redis
def test_after_sigkill_in_mid_evaluation_every_run_ends_once_and_no_container_stays(
    small_version: SuiteVersion, redis_url: str
) -> None:
    submission = slow_submission(small_version)
    plan(submission.pk)
    with running("worker", "--name", "first", **WORKER) as first:
        wait_until(lambda: bool(containers(running_only=True)), "a container to run")
        for pid in (first.pid, *children_of(first.pid)):
            os.kill(pid, signal.SIGKILL)
        first.wait()
        assert containers() != [], "nobody was left to remove it"
        with running("worker", "--name", "second", **WORKER):

            def scored() -> bool:
                reconcile()
                submission.refresh_from_db()
                return submission.state == SubmissionState.SCORED

            wait_until(scored, "the submission to be scored")
            # The sweep, not the second worker's end, removes what the first one left.
            wait_until(lambda: not containers(), "the sweep to remove the last container")
    outcomes = TestRun.objects.order_by("implementation__trial").values_list("state", "outcome")
    assert list(outcomes) == [(RunState.DONE, "passed"), (RunState.DONE, "wrong_output")] * (SLOW_TRIALS // 2)
    accepted = Attempt.objects.filter(state=AttemptState.ACCEPTED).values_list("run_id", flat=True)
    assert sorted(accepted) == sorted(TestRun.objects.values_list("pk", flat=True))
    assert sorted(set(Attempt.objects.values_list("state", flat=True))) == [AttemptState.ACCEPTED, AttemptState.INFRA]
