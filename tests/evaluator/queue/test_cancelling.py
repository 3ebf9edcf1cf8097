"""Cancelling with a real worker: what waits is dropped, boxes are gone in five seconds, the quota comes back."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from evaluator.queue.queueing import plan
from evaluator.reevaluation import planning, reevaluating
from submissions.domain import quotas, submitting
from submissions.enums import SubmissionState
from submissions.models import Implementation, Submission
from tests.benchmark_tasks.factories import MASKED
from tests.evaluator.factories import TestRunFactory, slow_submission
from tests.evaluator.processes import descendants, running, wait_until
from tests.evaluator.testing.test_docker_evaluation import containers

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.redis,
    pytest.mark.xdist_group("boxes-of-runs"),
]
WATCHED_SECONDS = 8.0
ENDLESS = MASKED.replace("raise NotImplementedError", "while True: pass", 1)


def endless(version: SuiteVersion) -> Submission:
    """Four answers that never end by themselves."""
    submission = slow_submission(version)
    Implementation.objects.filter(submission=submission).update(files={"scoring/core.py": ENDLESS})
    return submission


def boxes(worker: int) -> list[str]:
    """The programs in boxes of this worker, and its containers; others may be testing beside us."""
    found = [str(pid) for pid in descendants(worker) if b"/box/driver.py" in command_line(pid)]
    return found + (containers(running_only=True) if shutil.which("docker") else [])


def command_line(pid: int) -> bytes:
    """What a process was started with; nothing where it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def stop_in_mid_box(act: Callable[[], None], sandbox: Sandbox) -> float:
    """Start a worker, ``act`` while its first box runs, and say how many seconds later a box was seen last."""
    with running("worker", EVALUATOR_SANDBOX=sandbox.name) as worker:
        wait_until(lambda: TestRun.objects.filter(state=RunState.RUNNING).exists(), "a run to begin")
        wait_until(lambda: bool(boxes(worker.pid)), "a box to begin")
        # The candidate's code must be reached: it is what does not end.
        time.sleep(1.0)
        began = seen = time.monotonic()
        act()
        # Also after there was none for a moment: one box follows the other, and the worker looks for more runs.
        while time.monotonic() - began < WATCHED_SECONDS:
            if boxes(worker.pid):
                seen = time.monotonic()
    return seen - began


def test_a_cancelled_submission(each_sandbox: Sandbox, small_version: SuiteVersion, redis_url: str) -> None:
    submission = endless(small_version)
    plan(submission.pk)
    left = quotas.remaining(submission.owner)
    assert stop_in_mid_box(lambda: submitting.cancel(submission=submission, actor=submission.owner), each_sandbox) < 5
    submission.refresh_from_db()
    assert submission.state == SubmissionState.CANCELLED
    assert set(TestRun.objects.values_list("state", "outcome")) == {(RunState.CANCELLED, "")}
    assert set(Attempt.objects.values_list("state", flat=True)) == {AttemptState.CANCELLED}
    assert quotas.remaining(submission.owner) == left + 1


def test_a_stopped_reevaluation(each_sandbox: Sandbox, small_version: SuiteVersion, redis_url: str) -> None:
    submission = endless(small_version)
    for answer in submission.implementations.all():
        TestRunFactory(implementation=answer, done="timeout")
    small_version.revisions.exclude(task__index=1).update(not_runnable_reasons=["not asked"])
    Submission.objects.update(state=SubmissionState.SCORED)
    (planned,) = planning.plan(Submission.objects.all(), offered=lambda _: None)
    reevaluation = reevaluating.start(planned=planned, reason="Again.", actor=None)
    assert stop_in_mid_box(lambda: reevaluating.cancel(reevaluation=reevaluation, actor=None), each_sandbox) < 5
    assert set(reevaluation.runs.values_list("state", flat=True)) == {RunState.CANCELLED}
    assert set(TestRun.objects.current().values_list("outcome", flat=True)) == {"timeout"}
    submission.refresh_from_db()
    assert submission.state == SubmissionState.SCORED
