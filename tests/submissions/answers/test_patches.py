"""Applying a definition to a masked repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from submissions.answers.contents import AnswerError
from submissions.answers.diffs import apply_diff
from submissions.answers.patches import apply_source
from tests.submissions.answers.test_diffs import GOOD, repository, task_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["repository"]


def test_a_source_answer_becomes_a_diff(repository: Path) -> None:
    applied = apply_source(task_of(repository), b"def f(x):\n    return x\n")
    assert applied == apply_diff(task_of(repository), GOOD.encode())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"def f(x):\n    raise NotImplementedError\n", "The answer changes nothing"),
        (b'def f(x):\n  """New words."""\n  raise NotImplementedError  # later\n', "The answer changes nothing"),
    ],
)
def test_source_answers_that_score_bad_patch(repository: Path, answer: bytes, expected: str) -> None:
    with pytest.raises(AnswerError, match=expected):
        apply_source(task_of(repository), answer)
