"""Real workers: killed, stopped once or twice, or with a cancelled submission; and what each of them leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from rq import Worker

from benchmark_tasks.models import TaskRevision
from evaluator.enums import AttemptState, RunState
from evaluator.management.commands.worker import _warm_up
from evaluator.models import Attempt, TestRun
from evaluator.queue.processes import Owner, start_ticks
from evaluator.queue.pushing import opened
from evaluator.sandbox.box_names import BoxName
from evaluator.sandbox.cgroups import GroupStore
from evaluator.sweep import reconcile
from evaluator.testing import golden
from evaluator.testing.planning import plan
from submissions.domain import quotas, submitting
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
    from evaluator.sandbox.interface import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.redis, pytest.mark.xdist_group("boxes-of-runs")]


LEASE = {"LEASE_SECONDS": "5", "INFRA_RETRY_SECONDS": "0"}
"""Settings of the workers; the tests run the sweeps themselves."""


@pytest.fixture(autouse=True)
def no_pause(settings: Any) -> None:
    """Retry lost runs at once."""
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, infra_retry_seconds=0)


def endless_run(version: SuiteVersion) -> TestRun:
    """A queued run whose box ends only by its wall time."""
    submission = QueuedSubmissionFactory(suite_version=version, answers=False)
    text = MASKED.replace("raise NotImplementedError", "import time; time.sleep(60)", 1)
    ImplementationFactory(
        submission=submission, revision=version.revisions.get(task__index=1), files={"scoring/core.py": text}
    )
    (run_id,) = plan(submission.pk)
    return TestRun.objects.get(pk=run_id)


@pytest.mark.bubblewrap
def test_after_sigkill_in_mid_evaluation_every_run_ends_once(
    small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str
) -> None:
    """Kills worker and work-horse at once; the chaos tests kill them one by one."""
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


@pytest.mark.bubblewrap
def test_a_stopped_worker_and_its_job_return_the_run_and_nothing_counts(
    small_version: SuiteVersion, real_sandbox: Sandbox, redis_url: str
) -> None:
    """Signals both, as an init system does."""
    run = endless_run(small_version)
    with running("worker", **LEASE) as worker:
        # The worker's own check has boxes, too.
        wait_until(lambda: TestRun.objects.filter(state=RunState.RUNNING).exists(), "the run to begin")
        wait_until(lambda: bool(processes_of_boxes()), "a box to begin")
        with opened() as queue:
            (name,) = (each.name for each in Worker.all(connection=queue.connection))
        # Unique on all machines and in all containers, where process ids are alike.
        owner = replace(Owner.current(), pid=worker.pid, started=start_ticks(worker.pid) or 0)
        assert name == f"worker-{owner}"
        horses = children_of(worker.pid)
        worker.terminate()
        os.kill(horses[0], signal.SIGTERM)
        worker.wait(timeout=PATIENCE_SECONDS)
    run.refresh_from_db()
    assert (run.state, run.token, run.infra_count, run.not_before) == (RunState.QUEUED, None, 0, None)
    attempt = Attempt.objects.get()
    assert (attempt.state, attempt.reason) == (AttemptState.LOST, "The worker was interrupted.")
    wait_until(lambda: not processes_of_boxes(), "the box to be gone")


def test_a_model_worker_needs_the_keys_of_the_other_hosts() -> None:
    servers = {"DATABASE_URL": "postgres://u:p@127.0.0.1:1/d", "REDIS_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run(
        [sys.executable, "manage.py", "worker", "--models", "--burst"],
        cwd=PROJECT_ROOT, env=environment(**servers), check=False, timeout=PATIENCE_SECONDS, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"CommandError: DATABASE_URL and REDIS_URL name servers")


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, "The queue cannot be reached"),
        ({"SANDBOX_PYTHON": "/nowhere/python3", "EVALUATOR_SANDBOX": "bubblewrap"}, "No worker was started"),
    ],
)
def test_a_worker_that_cannot_work_prints_the_reason(
    changes: dict[str, str], message: str, real_sandbox: Sandbox, redis_url: str
) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "worker", "--burst"],
        cwd=PROJECT_ROOT, env=environment(**changes), check=False, timeout=PATIENCE_SECONDS, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def boxes_of(horse: int) -> list[str]:
    """Containers and control groups of the boxes that the process ``horse`` owns."""
    listing = ["docker", "ps", "--all", "--format", "{{.Names}}", "--filter", "label=lmr-board-box"]
    named = subprocess.run(listing, capture_output=True, text=True, check=False).stdout.split()
    texts = [name.removeprefix("lmr-board-box.") for name in named]
    names = {text: BoxName.parse(text) for text in [*texts, *GroupStore.of_this_machine().names()]}
    return [text for text, name in names.items() if name is not None and name.owner.pid == horse]


def test_a_worker_that_is_stopped_twice_leaves_no_box(
    small_version: SuiteVersion, each_sandbox: Sandbox, redis_url: str
) -> None:
    submission = slow_submission(small_version)
    plan(submission.pk)
    with running("worker", EVALUATOR_SANDBOX=each_sandbox.name) as worker:
        wait_until(lambda: TestRun.objects.filter(state=RunState.RUNNING).exists(), "a run to begin")
        (horse,) = children_of(worker.pid)
        wait_until(lambda: boxes_of(horse) != [], "a box to begin")
        os.kill(worker.pid, signal.SIGTERM)
        time.sleep(1.2)  # RQ ignores a second signal within a second
        assert is_running(horse)
        os.kill(worker.pid, signal.SIGTERM)
        worker.wait(timeout=60)
        assert not is_running(horse)
        assert boxes_of(horse) == []
    given_back = TestRun.objects.filter(attempts__state=AttemptState.LOST, infra_count=0)
    assert set(given_back.values_list("state", flat=True)) == {RunState.QUEUED}


@pytest.mark.bubblewrap
def test_the_processor_family_of_every_environment_that_works_is_known(
    small_version: SuiteVersion, real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golden, "_families", {})
    TaskRevision.objects.filter(task__index=1).update(environment="fortran")
    _warm_up()
    assert set(golden._families) == {(real_sandbox.name, real_sandbox.environment_digest("numpy"))}


@pytest.mark.bubblewrap
def test_boxes_of_a_cancelled_submission_are_gone_in_five_seconds_and_its_quota_is_back(
    small_version: SuiteVersion, bubblewrap: Sandbox, redis_url: str
) -> None:
    run = endless_run(small_version)
    submission = run.implementation.submission
    left = quotas.remaining(submission.owner)
    with running("worker", EVALUATOR_SANDBOX="bubblewrap") as worker:
        wait_until(lambda: TestRun.objects.filter(state=RunState.RUNNING).exists(), "the run to begin")
        wait_until(lambda: bool(processes_of_boxes(worker.pid)), "a box to begin")
        began = time.monotonic()
        submitting.cancel(submission=submission, actor=submission.owner)
        wait_until(lambda: not processes_of_boxes(worker.pid), "the box to be gone")
        assert time.monotonic() - began < 5
    submission.refresh_from_db()
    run.refresh_from_db()
    assert (submission.state, run.state, run.outcome) == (SubmissionState.CANCELLED, RunState.CANCELLED, "")
    assert Attempt.objects.get().state == AttemptState.CANCELLED
    assert quotas.remaining(submission.owner) == left + 1
