"""Answers with what tests and judge say of them, and how many of them are drawn, for the tests of triggers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.judging import judged, show
from tests.reviews.factories import answers

if TYPE_CHECKING:
    from evaluator.models import JudgeConfig
    from submissions.models import Implementation


def shares(settings: Any, **drawn: float) -> None:
    """Draw these shares: ``audit``, ``gap``, ``repeat``, each from 0 to 1."""
    named = {f"review_{name}_share": share for name, share in drawn.items()}
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **named)


def rated(judge: JudgeConfig, outcome: str, label: str, **facts: Any) -> Implementation:
    """A published answer with its test outcome and the shown judge's verdict."""
    (answer,) = answers()
    TestRunFactory(implementation=answer, done=outcome, finished=timezone.now())
    show(answer.submission.suite_version.suite, judge)
    judged(answer, judge, label, **facts)
    return answer
