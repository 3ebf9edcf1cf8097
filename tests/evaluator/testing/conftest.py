"""The mini task, a store, and a way to grade one goal file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.testing import golden
from evaluator.testing.golden import GoldenFolder
from evaluator.testing.sealed import grade
from evaluator.testing.verdicts import SealedTask, Verdict
from tests.evaluator.testing.mini_task import write_task, write_tree
from tests.evaluator.testing.unconfined import UnconfinedSandbox

Grade = Callable[..., Verdict]


@pytest.fixture(autouse=True)
def _fresh_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "_families", {})


@pytest.fixture
def task(tmp_path: Path) -> SealedTask:
    return write_task(tmp_path / "task")


@pytest.fixture
def store(tmp_path: Path) -> GoldenFolder:
    return GoldenFolder(tmp_path / "golden")


@pytest.fixture
def sandbox() -> UnconfinedSandbox:
    return UnconfinedSandbox()


@pytest.fixture
def grade_goal(task: SealedTask, store: GoldenFolder, sandbox: UnconfinedSandbox, tmp_path: Path) -> Grade:
    """Grade a goal file's text, by default on public seeds 1 and 2 and private seeds 11 and 12."""

    def run(goal: str, **changed: object) -> Verdict:
        tree = write_tree(tmp_path / "candidate", goal)
        arguments = {
            "sandbox": sandbox,
            "task": task,
            "candidate_tree": tree,
            "private_seeds": (11, 12),
            "golden": store,
            "label": "run-1",
        } | changed
        return grade(**arguments)  # type: ignore[arg-type]

    return run
