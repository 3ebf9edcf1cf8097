"""An instance whose data folder is below a private one, such as a checkout in /root, evaluates all the same."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.models import TestRun
from evaluator.sandbox import bubblewrap
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.trees import reachable_state_dir
from evaluator.testing import evaluate
from tests.benchmark_tasks.factories import MASKED
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory
from tests.submissions.factories import ImplementationFactory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.types import Sandbox

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("boxes-of-runs")]


@pytest.fixture
def private_folder(
    each_sandbox: Sandbox, tmp_path: Path, state_dir: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The data folder of the configured instance, below one that only its owner may enter.

    What would be the machine's shared state folder is that of the tests.
    """
    checkout = tmp_path / "checkout"
    checkout.mkdir(mode=0o700)
    monkeypatch.setattr(bubblewrap, "reachable_state_dir", partial(reachable_state_dir, shared=state_dir))
    settings.DATA_DIR = checkout / "var"
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, evaluator_sandbox=each_sandbox.name)
    yield checkout / "var"
    sandbox = configured_sandbox()
    if isinstance(sandbox, DockerSandbox):
        sandbox.close()


def test_right_and_wrong_answers_are_told_apart(private_folder: Path, small_version: SuiteVersion) -> None:
    revision = small_version.revisions.get(task__index=1)
    outcomes = []
    for body in ("return 2.0 * x", "return x"):
        submission = QueuedSubmissionFactory(suite_version=small_version, answers=False)
        text = MASKED.replace("raise NotImplementedError", body, 1)
        answer = ImplementationFactory(submission=submission, revision=revision, files={"scoring/core.py": text})
        run = TestRunFactory(implementation=answer)
        assert evaluate.evaluate_next()
        outcomes.append(TestRun.objects.get(pk=run.pk).outcome)
    assert outcomes == ["passed", "wrong_output"]
    assert list((private_folder / "golden").iterdir()) != []
    assert not (private_folder / "sandbox" / "environments").exists()
