"""Metrics of a repository's shape: compared with manual counts, stored at import and added for earlier imports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.catalogue import load_catalogue
from benchmark_tasks.domain.content import tree_files
from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.repository_metrics import repository_metrics, store_missing_metrics
from benchmark_tasks.models import TaskRevision
from tests.benchmark_tasks.factories import TaskRevisionFactory

if TYPE_CHECKING:
    from benchmark_tasks.domain.content import Content

GOAL = b'"""Scores."""\n\n# a comment\nimport math\n\n\ndef double(x):\n    # another\n    return 2 * x\n'

# setup.py, src/, src/a.py, src/b.py, src/deep/, src/deep/c.py, docs/, docs/index.md
FILES: dict[str, Content] = {"setup.py": b"", "src/a.py": b"", "src/b.py": b"", "src/deep/c.py": GOAL, "docs/i.md": b""}


def test_a_tree_counted_by_hand() -> None:
    """Depths 1 1 2 2 2 3 1 2; the root has two subfolders and src one; files lie at 1 2 2 3 2."""
    assert repository_metrics(FILES, "src/deep/c.py") == {
        "directory_depth": 14 / 8,
        "branch_factor": 1.5,
        "directory_imbalance": round(0.4**0.5, 6),
        "goal_length": 4,
    }


def test_one_file_has_no_branches_and_a_missing_goal_no_metrics(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"x = 1\r\n\r\n\xff\n")
    assert repository_metrics({"a.py": file}, "a.py") == {
        "directory_depth": 1.0,
        "branch_factor": 0.0,
        "directory_imbalance": 0.0,
        "goal_length": 2,
    }
    assert repository_metrics({"a.py": file}, "b.py") is None


@given(goal=st.binary(max_size=200))
def test_any_bytes_have_a_length(goal: bytes) -> None:
    found = repository_metrics({"a.py": goal}, "a.py")
    assert found is not None
    assert 0 <= found["goal_length"] <= len(goal)


@pytest.mark.django_db
def test_an_import_stores_metrics_and_the_catalogue_adds_missing_ones(suite_folder: Path) -> None:
    import_suite(folder=suite_folder, slug="small")
    revision = TaskRevision.objects.get(task__slug="alpha/1")
    wanted = repository_metrics(tree_files(revision.repository_hash), revision.goal_file)
    assert wanted is not None
    assert (revision.repository_metrics, wanted["goal_length"] > 3) == (wanted, True)
    TaskRevision.objects.update(repository_metrics={})
    # The files of this revision are gone: it stays without metrics, and the others are computed nevertheless.
    lost = TaskRevisionFactory()
    load_catalogue()
    revision.refresh_from_db()
    lost.refresh_from_db()
    assert (revision.repository_metrics, lost.repository_metrics) == (wanted, {})
    shipped = TaskRevision.objects.filter(task__suite__slug="lmr-mini")
    assert (shipped.exists(), shipped.filter(repository_metrics={}).exists()) == (True, False)
    assert store_missing_metrics() == 0
