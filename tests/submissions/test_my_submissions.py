"""The list of one's own submissions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from evaluator.enums import RunState
from evaluator.models import TestRun
from leaderboard.board.entries import recompute_submission
from submissions.enums import SubmissionState, Visibility
from tests.benchmark_tasks.factories import SuiteFactory
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


def test_strangers_are_asked_to_sign_in(client: Client, db: None) -> None:
    assert client.get(ADDRESS)["Location"] == "/accounts/login/?next=/my/"


def test_an_empty_list_says_what_to_do(as_alice: Client) -> None:
    page = as_alice.get(ADDRESS).content.decode()
    assert "You have not submitted anything yet." in page
    assert f'Download a task kit from a <a href="{reverse("suites")}">' in page


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
        ("?sort=date", ["Bravo", "Charlie", "Alpha"]),
        ("?sort=system", ["Alpha", "Bravo", "Charlie"]),
        ("?sort=-system", ["Charlie", "Bravo", "Alpha"]),
        ("?state=running", ["Charlie"]),
        ("?visibility=published", ["Alpha"]),
        ("?q=bravo-1", ["Bravo"]),
        ("?sort=nonsense&state=nonsense", ["Alpha", "Charlie", "Bravo"]),
        ("?q=nothing", []),
    ],
)
def test_filters_and_sort_stand_in_the_address(as_alice: Client, three: None, query: str, expected: list[str]) -> None:
    assert names(as_alice, query) == expected


def test_a_filter_without_a_match_offers_all(as_alice: Client, three: None) -> None:
    assert "None of your submissions matches." in as_alice.get(f"{ADDRESS}?q=nothing").content.decode()


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


def test_uploads_that_wait_are_listed(as_alice: Client, alice: User) -> None:
    upload = UploadFactory(owner=alice, name="mine.zip")
    assert f'<a href="/submit/{upload.pk}/">mine.zip</a>' in as_alice.get(ADDRESS).content.decode()


def test_pages_of_25_keep_the_filter(as_alice: Client, alice: User) -> None:
    SubmissionFactory.create_batch(26, owner=alice, system=SystemFactory(owner=alice), visibility=Visibility.PRIVATE)
    page = as_alice.get(f"{ADDRESS}?state=scored").content.decode()
    assert len(names(as_alice, "?state=scored")) == 25
    assert 'rel="next" href="?state=scored&amp;page=2"' in page
    assert len(names(as_alice, "?state=scored&page=2")) == 1


@pytest.mark.parametrize("n", [1, 3])
def test_queries_do_not_grow(
    as_alice: Client, alice: User, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for submission in SubmissionFactory.create_batch(n, owner=alice):
        for answer in with_answers(submission, n):
            TestRunFactory(implementation=answer, done="passed")
    UploadFactory.create_batch(n, owner=alice)
    # session, user, suites of the form, count, page, uploads, quota
    with django_assert_num_queries(7):
        as_alice.get(ADDRESS)


@pytest.mark.parametrize(
    ("applies", "limit", "said"),
    [
        ([True, True], 10, "ready to be submitted"),
        ([True, False], 10, "1 of 2 answers apply, the others would count as failed"),
        ([False, False], 10, "none of its answers applies: submitted as it is, all would count as failed"),
        ([True], 0, "ready to be submitted; the quota of today is used"),
    ],
)
def test_the_list_says_what_an_upload_is_good_for(
    as_alice: Client, alice: User, applies: list[bool], limit: int, said: str
) -> None:
    alice.daily_submissions = limit
    alice.save()
    upload = UploadFactory(owner=alice)
    upload.report["answers"] = [{"applies": each} for each in applies]
    upload.save()
    assert f"; {said}</li>" in as_alice.get(ADDRESS).content.decode()


def test_an_upload_that_cannot_be_submitted_is_said(as_alice: Client, alice: User) -> None:
    upload = UploadFactory(owner=alice)
    upload.report["acceptable"] = False
    upload.save()
    assert "; cannot be submitted as it is</li>" in as_alice.get(ADDRESS).content.decode()


def test_tasks_without_an_answer_do_not_count_as_progress(as_alice: Client, alice: User) -> None:
    running = SubmissionFactory(owner=alice, state=SubmissionState.RUNNING)
    TestRunFactory(implementation=with_answers(running, 1)[0])
    for answer in with_answers(running, 2, attempted=False):
        TestRunFactory(implementation=answer, done="not_attempted")
    assert "0 of 1 decided" in as_alice.get(ADDRESS).content.decode()


def test_suites_of_one_title_are_told_apart(as_alice: Client, three: None) -> None:
    SuiteFactory(slug="mine", title="Same")
    SuiteFactory(slug="other", title="Same")
    page = as_alice.get(ADDRESS).content.decode()
    assert '<option value="mine">Same (mine)</option>' in page
    assert 'role="search"' not in page
