"""The shipped suite, and a worker's sudden death, on an instance with ``EVALUATOR_SANDBOX=docker``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from evaluator.models import Attempt
from evaluator.sandbox.docker_client import LABEL, OWNER_LABEL
from evaluator.sandbox.docker_engine import DockerSandbox
from submissions.domain.samples import build_sample
from submissions.models import Submission
from tests.evaluator.commands import submit

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.xdist_group("boxes-of-runs"),
    pytest.mark.usefixtures("docker_is_configured"),
]


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
