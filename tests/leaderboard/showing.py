"""Scored submissions and the text of their pages, for tests of pages and actions."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from leaderboard.board.columns import DEFAULT_SORT, sorted_metrics
from leaderboard.board.entries import recompute_submission
from leaderboard.board.rows import board_metrics, board_rows
from submissions.enums import SubmissionState
from tests.evaluator.factories import QueuedSubmissionFactory, TestRunFactory, runs_of
from tests.submissions.factories import SubmissionFactory, SystemFactory, with_answers

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.test import Client

    from benchmark_tasks.models import Category, SuiteVersion
    from leaderboard.board.row import BoardRow
    from submissions.models import Implementation, Submission, User


def scored(owner: User, *outcomes: str, **facts: Any) -> Submission:
    """A scored submission with its board entry, one task for each outcome."""
    system = SystemFactory(owner=owner, name="Alpha Solver", backbone="alpha-2")
    submission: Submission = SubmissionFactory(owner=owner, system=system, **facts)
    for answer, outcome in zip(with_answers(submission, len(outcomes)), outcomes, strict=True):
        TestRunFactory(implementation=answer, done=outcome, seconds=1.25, reason=f"because {outcome}")
    recompute_submission(submission.pk)
    return submission


def get(client: Client, submission: Submission, user: User | None = None) -> HttpResponse:
    if user is not None:
        client.force_login(user)
    return client.get(submission.get_absolute_url())  # type: ignore[return-value]


def text_of(response: HttpResponse) -> str:
    """The page as text, white space collapsed."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", response.content.decode()))


def words(page: str) -> str:
    """The visible text of a page, with a space in place of each tag."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def words_of(response: Any) -> str:
    return words(response.content.decode())


def address_of(answer: Implementation, name: str) -> str:
    """The address of one of an answer's own pages."""
    task = answer.revision.task
    return reverse(name, args=[answer.submission_id, task.paper.slug, task.index, answer.trial])


def counted(version: SuiteVersion, *outcomes: str, **facts: Any) -> Submission:
    """A scored submission to the version's tasks, without its board entry; without ``outcomes`` it passes all."""
    submission: Submission = QueuedSubmissionFactory(suite_version=version, **facts)
    runs_of(submission, *(outcomes or ["passed"] * submission.implementations.count()))
    type(submission).objects.filter(pk=submission.pk).update(state=SubmissionState.SCORED)
    return submission


def rows_of(version: SuiteVersion, *, category: Category | None = None, sort: str = DEFAULT_SORT) -> list[BoardRow]:
    """The rows of a suite version's board."""
    return board_rows(sorted_metrics(board_metrics(version, category), sort), version, category)
