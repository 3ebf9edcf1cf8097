"""Fixtures of reviewing: reviewers, a judge, a task, and sent signals."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from reviews.signals import case_closed
from tests.leaderboard.judging import JudgeFactory
from tests.reviews.factories import ReviewerFactory, ready
from tests.reviews.labelling import stored_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_django import Settings

    from benchmark_tasks.models import TaskRevision
    from evaluator.models import JudgeConfig
    from reviews.models import Case, Reviewer


@pytest.fixture
def annotator(db: None) -> Reviewer:
    """An annotator who has read the guidelines."""
    return ready()


@pytest.fixture
def other_annotator(db: None) -> Reviewer:
    """Another annotator."""
    return ready()


@pytest.fixture
def adjudicator(db: None) -> Reviewer:
    """A reviewer who is only an adjudicator."""
    return ready(annotator=False, adjudicator=True)


@pytest.fixture
def reviewer(db: None) -> Reviewer:
    """An annotator who has not read the guidelines."""
    made: Reviewer = ReviewerFactory()
    return made


@pytest.fixture
def judge(db: None) -> JudgeConfig:
    """An active judge."""
    made: JudgeConfig = JudgeFactory()
    return made


@pytest.fixture
def task(settings: Settings, tmp_path: Path, db: None) -> TaskRevision:
    """A task whose files are stored."""
    return stored_task(settings, tmp_path)


@pytest.fixture
def committing(django_capture_on_commit_callbacks: Any) -> Callable[[], Any]:
    """A context that runs on-commit callbacks at its end."""
    return partial(django_capture_on_commit_callbacks, execute=True)


@pytest.fixture
def heard() -> Iterator[list[Case]]:
    """Collect the cases of ``case_closed`` signals."""
    cases: list[Case] = []

    def hear(case: Case, **_: Any) -> None:
        cases.append(case)

    case_closed.connect(hear)
    yield cases
    case_closed.disconnect(hear)
