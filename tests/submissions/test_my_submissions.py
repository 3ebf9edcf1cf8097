"""The list of a user's own submissions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.enums import RunState
from evaluator.models import TestRun
from leaderboard.board.entries import recompute_submission
from submissions.enums import SubmissionState
from tests.evaluator.factories import TestRunFactory
from tests.submissions.factories import SubmissionFactory, SystemFactory, UploadFactory, with_answers

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries

    from submissions.models import User

ADDRESS = "/my/"


def names(client: Client, query: str = "") -> list[str]:
    page = client.get(ADDRESS + query).content.decode()
    return re.findall(r'<th role="rowheader" scope="row"><a href="/submissions/\d+/">([^<]+)</a>', page)


@pytest.fixture
def three(alice: User) -> None:
    """A scored, a running and a published submission of Alice's, oldest first."""
    facts_by_name: dict[str, dict[str, Any]] = {
        "Bravo": {"state": SubmissionState.SCORED},
        "Charlie": {"state": SubmissionState.RUNNING},
        "Alpha": {"published": True},
    }
    for name, facts in facts_by_name.items():
        SubmissionFactory(owner=alice, system=SystemFactory(owner=alice, name=name, backbone=f"{name}-1"), **facts)


def test_submissions_of_others_are_not_listed(as_alice: Client, bob: User) -> None:
    SubmissionFactory(owner=bob, system=SystemFactory(owner=bob, name="Bobs Secret"), published=True)
    UploadFactory(owner=bob, name="bobs.zip")
    page = as_alice.get(ADDRESS).content.decode()
    assert "Bobs Secret" not in page
    assert "bobs.zip" not in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Alpha", "Charlie", "Bravo"]),
        ("?sort=system", ["Alpha", "Bravo", "Charlie"]),
        ("?state=running", ["Charlie"]),
        ("?q=bravo-1", ["Bravo"]),
        ("?sort=nonsense&state=nonsense", ["Alpha", "Charlie", "Bravo"]),
    ],
)
def test_filters_and_sort_are_in_the_address(as_alice: Client, three: None, query: str, expected: list[str]) -> None:
    assert names(as_alice, query) == expected


def test_progress_and_passed_tasks_are_shown(as_alice: Client, alice: User) -> None:
    running = SubmissionFactory(owner=alice, state=SubmissionState.RUNNING)
    first, second, third = with_answers(running, 3)
    TestRunFactory(implementation=first, done="passed")
    TestRunFactory(implementation=second)
    TestRunFactory(implementation=third)
    assert "1 of 3 decided" in as_alice.get(ADDRESS).content.decode()
    TestRun.objects.update(state=RunState.DONE, outcome="passed")
    running.state = SubmissionState.SCORED
    running.save()
    recompute_submission(running.pk)
    assert '<td role="cell" data-label="Tasks passed">3 of 3</td>' in as_alice.get(ADDRESS).content.decode()


@pytest.mark.parametrize("n", [1, 3])
def test_queries_do_not_grow(
    as_alice: Client, alice: User, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for submission in SubmissionFactory.create_batch(n, owner=alice):
        for answer in with_answers(submission, n):
            TestRunFactory(implementation=answer, done="passed")
    UploadFactory.create_batch(n, owner=alice)
    # session, user, teams, suites of the form, count, page, uploads, quota, notices
    with django_assert_num_queries(9):
        as_alice.get(ADDRESS)


@pytest.mark.parametrize(
    ("applies", "limit", "shown"),
    [
        ([True, False], 10, "1 of 2 answers apply, the others would count as failed"),
        ([True], 0, "ready to be submitted; the quota of today is used"),
    ],
)
def test_the_list_shows_the_state_of_uploads(
    as_alice: Client, alice: User, applies: list[bool], limit: int, shown: str
) -> None:
    alice.daily_submissions = limit
    alice.save()
    upload = UploadFactory(owner=alice)
    upload.report["answers"] = [{"applies": each} for each in applies]
    upload.save()
    assert f"; {shown}</li>" in as_alice.get(ADDRESS).content.decode()


def test_a_page_has_25_submissions(as_alice: Client, alice: User) -> None:
    SubmissionFactory.create_batch(26, owner=alice)
    assert [len(names(as_alice, query)) for query in ("", "?page=2")] == [25, 1]
