"""Similarity to the golden function, measured on submission and for older answers by the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.domain.queries import golden_definition
from submissions.domain.similarities import compare_older_answers
from submissions.domain.submitting import submit
from submissions.models import Implementation
from tests.submissions.factories import RIGHT, bundle

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User


@pytest.fixture
def answers(alice: User, tmp_path: Path, small: SuiteVersion) -> list[Implementation]:
    """The golden answer to alpha/1, and none to the other task."""
    golden = golden_definition(small.revisions.get(task__slug="alpha/1"))
    file = tmp_path / "sent.bundle"
    file.write_bytes(bundle({"alpha/1": golden}))
    submission = submit(owner=alice, path=file).submission
    return list(submission.implementations.order_by("revision__task__slug"))


def test_an_answer_is_compared_on_submission(answers: list[Implementation]) -> None:
    same = {"tokens": 1.0, "tree": 1.0}
    assert [(each.similarity, each.identical_to_reference) for each in answers] == [(same, True), ({}, False)]


def test_older_answers_are_compared_once(answers: list[Implementation]) -> None:
    Implementation.objects.update(similarity=None)
    answered, missing = answers
    Implementation.objects.filter(pk=answered.pk).update(goal_source=RIGHT)
    assert (compare_older_answers(), compare_older_answers()) == (1, 0)
    answered.refresh_from_db()
    assert answered.similarity.keys() == {"tokens", "tree"}
    assert Implementation.objects.get(pk=missing.pk).similarity is None, "there is no code to compare"


def test_an_answer_without_a_golden_file_has_no_similarity(
    answers: list[Implementation], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    revision = answers[0].revision
    Implementation.objects.update(similarity=None)
    type(revision).objects.filter(pk=revision.pk).update(grading_hash="0" * 64)
    assert compare_older_answers() == 1
    assert Implementation.objects.get(pk=answers[0].pk).similarity == {}
