"""Helpers for tests that read suite folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmark_tasks.domain.paper_folder import TaskFolder
from benchmark_tasks.domain.suite_folder import SuiteFolder, read_suite
from tests.benchmark_tasks.factories import (
    write_suite,
)

if TYPE_CHECKING:
    from pathlib import Path


def fatal(suite: SuiteFolder) -> list[str]:
    return [str(problem) for problem in suite.problems if problem.fatal]


def remarks(suite: SuiteFolder) -> list[str]:
    return [str(problem) for problem in suite.problems if not problem.fatal]


def first_task(suite: SuiteFolder) -> TaskFolder:
    assert fatal(suite) == []
    return suite.papers[0].tasks[0]


def reasons(tmp_path: Path, **paper: Any) -> tuple[str, ...]:
    return first_task(read_suite(write_suite(tmp_path / "s", **paper))).reasons
