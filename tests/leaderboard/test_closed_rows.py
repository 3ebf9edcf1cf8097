"""Rows of boards to somebody who labels: those of many answers are open, those of few are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from benchmark_tasks.models import TaskRevision
from leaderboard.board.board import BoardQuery, board_rows
from leaderboard.board.closed_rows import LEAST_ANSWERS
from leaderboard.board.entries import recompute_reported, recompute_submission
from leaderboard.models import ReportedAggregate
from reviews.enums import CaseState
from submissions.models import Implementation, Submission
from submissions.trajectories.steps import Action
from tests.benchmark_tasks.factories import CategoryFactory
from tests.leaderboard.factories import ReportedResultFactory, reported
from tests.leaderboard.judging import walked
from tests.leaderboard.showing import scored, text_of
from tests.reviews.factories import answers, assigned, case_of, ready
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.models import ReportedRun
    from reviews.models import Reviewer
    from submissions.models import User

pytestmark = pytest.mark.django_db

CLOSED = "closed while you label"


@pytest.fixture
def submission() -> Submission:
    """Two of five tasks pass; one of them is alone in its category."""
    made = scored(UserFactory(), "passed", "passed", *["wrong_output"] * 3, published=True)
    first = made.implementations.order_by("pk")[0]
    TaskRevision.objects.filter(pk=first.revision_id).update(category=CategoryFactory(slug="evaluation-metrics"))
    recompute_submission(made.pk)
    return made


@pytest.fixture
def version(submission: Submission) -> SuiteVersion:
    return submission.suite_version


@pytest.fixture
def holder(version: SuiteVersion) -> Reviewer:
    """Somebody who labels an answer of the suite."""
    reviewer = ready()
    assigned(case_of(answers(suite_version=version)[0], state=CaseState.LEASED), reviewer)
    return reviewer


def shown(client: Client, address: str, user: User | None) -> str:
    client.force_login(user)  # type: ignore[arg-type]
    response: Any = client.get(address)
    return text_of(response)


def totals_only(version: SuiteVersion) -> ReportedRun:
    run = reported(version).reported_run
    assert run is not None
    ReportedAggregate.objects.create(run=run, measure="tests", count=3)
    recompute_reported(run, version)
    return run


def numbers(version: SuiteVersion, *, closed: bool) -> list[tuple[str, float | None, bool]]:
    """Every row by unit tests: system, tasks passed, closed."""
    rows = board_rows(version=version, query=BoardQuery(sort="-tests"), closed=closed)
    return [(row.system, row.tests.passed if row.tests else None, row.closed) for row in rows]


def test_rows_of_five_answers_are_open_and_their_categories_are_not(
    client: Client, submission: Submission, holder: Reviewer
) -> None:
    suite, system = submission.suite_version.suite, submission.system
    assert submission.implementations.filter(attempted=True).count() == LEAST_ANSWERS
    board = shown(client, reverse("board", args=[suite.slug]), holder.user)
    assert ("2 of 5 tasks" in board, CLOSED in board) == (True, False)
    page = shown(client, reverse("system", args=[system.slug]), holder.user)
    assert ("2 of 5 tasks" in page, CLOSED in page, "By category" in page) == (True, False, False)
    assert f"The single answers of {suite.title}" in page
    assert "By category" in shown(client, reverse("system", args=[system.slug]), UserFactory())


def test_a_row_of_four_answers_is_closed_and_sorted_as_without_numbers(submission: Submission) -> None:
    version = submission.suite_version
    run = totals_only(version)
    name = submission.system.name
    submission.system.__class__.objects.filter(pk=run.system_id).update(name="Beta")
    assert numbers(version, closed=True) == [("Beta", 3, False), (name, 2, False)]
    Implementation.objects.filter(pk=submission.implementations.order_by("pk")[4].pk).update(attempted=False)
    ReportedAggregate.objects.update(count=1)
    recompute_reported(run, version)
    assert numbers(version, closed=False) == [(name, 2, False), ("Beta", 1, False)]
    assert numbers(version, closed=True) == [("Beta", 1, False), (name, None, True)]


def test_several_trials_of_a_task_are_one_answer(version: SuiteVersion, submission: Submission) -> None:
    first, second, *_, last = submission.implementations.order_by("pk")
    Implementation.objects.filter(pk=last.pk).update(revision=first.revision, trial=2)
    assert second.revision_id != first.revision_id
    assert numbers(version, closed=True) == [(submission.system.name, None, True)]


def test_a_version_of_four_tasks_is_closed_on_every_page(client: Client) -> None:
    made = scored(UserFactory(), "passed", *["wrong_output"] * 3, published=True)
    holder = ready()
    assigned(case_of(answers(suite_version=made.suite_version)[0], state=CaseState.LEASED), holder)
    for address in (reverse("board", args=[made.suite_version.suite.slug]), made.system.get_absolute_url()):
        page = shown(client, address, holder.user)
        # Tests, judge and humans.
        assert ("1 of 4 tasks" in page, page.count(CLOSED)) == (False, 3)
        assert "1 of 4 tasks" in shown(client, address, UserFactory())


def test_what_others_reported_of_few_tasks_is_closed(client: Client, version: SuiteVersion, holder: Reviewer) -> None:
    run = reported(version).reported_run
    assert run is not None
    revisions = list(version.revisions.order_by("pk")[:LEAST_ANSWERS])
    for revision in revisions[1:]:
        ReportedResultFactory(run=run, task=revision.task, judge_label="CC", human_label="CC")
    recompute_reported(run, version)
    address = reverse("reported_run", args=[run.slug])
    page = shown(client, address, holder.user)
    assert ("4 of 6 tasks" in page, CLOSED in page) == (False, True)
    ReportedResultFactory(run=run, task=revisions[0].task)
    recompute_reported(run, version)
    page = shown(client, address, holder.user)
    assert ("5 of 6 tasks" in page, CLOSED in page) == (True, False)
    # Four that both rated are few.
    assert ("Judge against humans" in page, "Counted per category" in page) == (False, False)
    page = shown(client, address, UserFactory())
    assert ("Judge against humans" in page, "Counted per category" in page) == (True, True)


def test_actions_of_ones_own_submission_stay_open(client: Client, submission: Submission, holder: Reviewer) -> None:
    walked(submission.implementations.order_by("pk")[0], Action.MESSAGE)
    address = reverse("submission_actions", args=[submission.pk])
    assert "those that did not" not in shown(client, address, holder.user)
    Submission.objects.filter(pk=submission.pk).update(owner=holder.user)
    assert "those that did not" in shown(client, address, holder.user)


def test_who_labels_costs_one_query_more_whatever_the_number_of_rows(
    submission: Submission, django_assert_num_queries: Any
) -> None:
    version = submission.suite_version
    totals_only(version)
    with django_assert_num_queries(2):
        board_rows(version=version)
    with django_assert_num_queries(3):
        board_rows(version=version, closed=True)
