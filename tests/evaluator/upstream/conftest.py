"""Upstream's tasks, ready to be graded in a real box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluator.testing.upstream import grade_upstream
from evaluator.testing.upstream_boxes import UpstreamTask
from evaluator.testing.verdicts import Verdict
from tests.evaluator.upstream.tasks import answer_tree, load_task

if TYPE_CHECKING:
    from evaluator.sandbox.interface import Sandbox

GradeText = Callable[..., Verdict]


@pytest.fixture
def pairs(tmp_path: Path) -> UpstreamTask:
    """A function at module level with data in files."""
    return load_task("11-PairLossArrays", tmp_path)


@pytest.fixture
def decay(tmp_path: Path) -> UpstreamTask:
    """A function whose test only logs."""
    return load_task("16-DecayArrays", tmp_path)


@pytest.fixture
def contrast(tmp_path: Path) -> UpstreamTask:
    """A function in the unit test file itself."""
    return load_task("15-ContrastArrays", tmp_path)


@pytest.fixture
def grade_text(bubblewrap: Sandbox, tmp_path: Path) -> GradeText:
    """Grade a goal file's text."""

    def run(task: UpstreamTask, text: str, **limits: float) -> Verdict:
        task = replace(task, **limits)  # type: ignore[arg-type]
        return grade_upstream(sandbox=bubblewrap, task=task, tree=answer_tree(task, tmp_path, text), label="answer")

    return run
