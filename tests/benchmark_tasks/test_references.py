"""Flagging answers that are the golden function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.python_source import same_definition
from benchmark_tasks.domain.queries import golden_definition
from tests.benchmark_tasks.factories import GOLDEN_DOUBLE_BODY, GOLDEN_SCORE_BODY

if TYPE_CHECKING:
    from pathlib import Path

ONE = "def double(x):\n    return x + x\n"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (ONE, True),
        ('def double( x ):  # twice\n  """Twice."""\n  return (x + x)\n', True),
        ("    def double(x):\n        return x + x\n", True),
        ("def double(x):\n    return x * 2\n", False),
        ("def double(y):\n    return y + y\n", False),
        ("def double(x):\n    return x + x\n\ndef extra():\n    pass\n", False),
        ("def double(x:\n", False),
        ("\0", False),
    ],
)
def test_only_the_syntax_tree_counts(other: str, same: bool) -> None:
    assert same_definition(ONE, other) is same
    assert same_definition(other, ONE) is same


@pytest.mark.django_db
def test_the_golden_definition_comes_from_the_content_store(suite_folder: Path) -> None:
    version = import_suite(folder=suite_folder, slug="small").version
    assert version is not None
    first, second = version.revisions.order_by("task__index")
    assert golden_definition(first).endswith(GOLDEN_DOUBLE_BODY)
    assert golden_definition(second).startswith("    def score(self, x):")
    assert golden_definition(second).endswith(GOLDEN_SCORE_BODY)
