"""Upstream's dataset folder from import to verdict, as audits and runs use it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.outcomes import Outcome
from evaluator.sandbox.configuration import scratch_folder
from evaluator.testing.graders import OUTSIDE_SECONDS, Grader, writable_copy
from tests.evaluator.upstream.tasks import DATASET

if TYPE_CHECKING:
    from evaluator.sandbox.interface import BoxResult, BoxSpec, Sandbox

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap]

FOLDERS = ("11-PairLossArrays", "15-ContrastArrays", "16-DecayArrays")


@pytest.fixture
def version(tmp_path: Path, settings: Any) -> SuiteVersion:
    """The tasks that need only NumPy, in an environment that the operator's file gives them."""
    settings.DATA_DIR = tmp_path / "data"
    file = tmp_path / "environments.toml"
    file.write_text('[tasks]\n"arrays/*" = "numpy"\n')
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, environments_file=file)
    for folder in FOLDERS:
        shutil.copytree(DATASET / folder, tmp_path / "suite" / folder)
    version = import_suite(folder=tmp_path / "suite", slug="arrays").version
    assert version is not None
    return version


def grader(version: SuiteVersion, paper: str) -> Grader:
    revisions = TaskRevision.objects.select_related("task__suite", "task__paper")
    return Grader(revisions.get(task__paper__folder_name=paper), version.seed_epoch)


class CountingSandbox:
    """A sandbox that adds up how long its boxes may take."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def run(self, spec: BoxSpec, **named: Any) -> BoxResult:
        self.seconds += spec.limits.wall_seconds
        return self._sandbox.run(spec, **named)


@pytest.mark.parametrize(("paper", "most"), [("11-PairLossArrays", 86400), ("15-ContrastArrays", 600)])
def test_a_run_may_take_as_long_as_all_of_its_boxes(
    paper: str, most: int, version: SuiteVersion, bubblewrap: Sandbox, settings: Any
) -> None:
    file = settings.ENVIRONMENT.environments_file
    file.write_text(f'[environments.numpy]\nimage = "unused"\nwall_seconds = {most}\n[tasks]\n"arrays/*" = "numpy"\n')
    found, boxes = grader(version, paper), CountingSandbox(bubblewrap)
    found.grade(found.reference_tree, label="golden", sandbox=boxes)
    assert most <= boxes.seconds <= found.most_seconds - OUTSIDE_SECONDS


@pytest.mark.parametrize(
    ("paper", "masked"),
    [
        ("11-PairLossArrays", Outcome.RAISED),
        ("15-ContrastArrays", Outcome.RAISED),
        ("16-DecayArrays", Outcome.WRONG_OUTPUT),
    ],
)
def test_golden_passes_and_stub_fails(paper: str, masked: Outcome, version: SuiteVersion, bubblewrap: Sandbox) -> None:
    found = grader(version, paper)
    assert found.grade(found.reference_tree, label="golden", sandbox=bubblewrap).outcome is Outcome.PASSED
    with writable_copy(found.masked_tree) as tree:
        assert found.grade(tree, label="stub", sandbox=bubblewrap).outcome is masked
    assert list(scratch_folder().iterdir()) == []
