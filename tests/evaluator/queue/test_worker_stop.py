"""What a worker that is told twice to stop, and so cannot wait for its job, leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from evaluator.enums import AttemptState, RunState
from evaluator.models import TestRun
from evaluator.queue.queueing import plan
from evaluator.sandbox.cgroups import GroupStore
from evaluator.sandbox.ownership import BoxName
from tests.evaluator.factories import slow_submission
from tests.evaluator.processes import children_of, is_running, running, wait_until

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.redis, pytest.mark.xdist_group("boxes-of-runs")]


def boxes_of(horse: int) -> list[str]:
    """Containers and control groups of the boxes that the process ``horse`` owns."""
    form = '{{.Label "lmr-board-box"}}.{{.Label "lmr-board-owner"}}.{{.Label "lmr-board-deadline"}}.{{.ID}}'
    listing = ["docker", "ps", "--all", "--format", form, "--filter", "label=lmr-board-box"]
    texts = subprocess.run(listing, capture_output=True, text=True, check=False).stdout.split()
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
        time.sleep(1.2)  # RQ takes a second signal within a second for the same one
        assert is_running(horse)
        os.kill(worker.pid, signal.SIGTERM)
        worker.wait(timeout=60)
        assert not is_running(horse)
        assert boxes_of(horse) == []
    given_back = TestRun.objects.filter(attempts__state=AttemptState.LOST, infra_count=0)
    assert set(given_back.values_list("state", flat=True)) == {RunState.QUEUED}
