"""The bell, the page of notices, and the account's page of e-mails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from allauth.account.models import EmailAddress
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboard.models import MailChoice, Notice
from leaderboard.models.enums import NoticeKind
from reviews.enums import CaseState
from reviews.models import Case, Reviewer
from submissions.models import Submission, User
from tests.leaderboard.factories import measured
from tests.leaderboard.showing import words_of
from tests.reviews.factories import ReviewerFactory, answers, case_of
from tests.submissions.factories import UserFactory

pytestmark = pytest.mark.django_db

if TYPE_CHECKING:
    from collections.abc import Callable


def told(owner: User, kind: str = "scored", **facts: Any) -> Notice:
    """A notice about a published submission of ``owner``."""
    if kind != "review" and "submission" not in facts:
        facts["submission"] = measured(owner=owner).submission
    key = str(Notice.objects.count())
    return Notice.objects.create(recipient=owner, kind=kind, key=key, made=timezone.now(), **facts)


def bell(client: Client) -> str:
    """What a screen reader says of it."""
    page = client.get("/docs/").content.decode()
    return page.partition('<span class="visually-hidden">Notices')[2].partition("</span>")[0]


def appealed(person: User, **facts: Any) -> Notice:
    (answer,) = answers(**facts)
    case = case_of(answer, state=CaseState.FINAL, label="LI", source="decision", closed=timezone.now())
    return told(person, "appeal", submission=answer.submission, case=case)


class TestBell:
    def test_counts_what_is_unread(self, as_alice: Client, alice: User) -> None:
        assert bell(as_alice) == ""
        told(alice)
        told(alice, read=timezone.now())
        told(UserFactory())
        assert bell(as_alice) == ": 1 unread"

    def test_strangers_have_none(self, client: Client, alice: User) -> None:
        told(alice)
        page = client.get("/docs/").content.decode()
        assert "bell" not in page

    def test_asks_one_query(self, as_alice: Client, client: Client, alice: User) -> None:
        for _ in range(3):
            told(alice)
        with CaptureQueriesContext(connection) as queries:
            as_alice.get("/docs/")
        assert [query["sql"].count("COUNT(") for query in queries if "leaderboard_notice" in query["sql"]] == [1]


class TestList:
    def test_newest_first_and_nobody_elses(self, as_alice: Client, alice: User) -> None:
        first, second = told(alice), told(alice, "held")
        other = told(UserFactory())
        page = as_alice.get("/notices/").content.decode()
        assert page.index(f"/notices/{second.pk}/") < page.index(f"/notices/{first.pk}/")
        assert f"/notices/{other.pk}/" not in page
        assert as_alice.get(f"/notices/{other.pk}/").status_code == 404

    def test_an_empty_one_says_what_will_be_there(self, as_alice: Client) -> None:
        text = words_of(as_alice.get("/notices/"))
        assert "No notices." in text
        assert all(label in text for label in NoticeKind.labels)

    def test_asks_the_same_queries_for_many(self, as_alice: Client, alice: User) -> None:
        asked = []
        for _ in range(2):
            for _ in range(5):
                told(alice)
                appealed(alice, owner=alice)
            with CaptureQueriesContext(connection) as queries:
                as_alice.get("/notices/")
            asked.append(len(queries))
        assert asked[0] == asked[1]

    def test_is_paged(self, as_alice: Client, alice: User) -> None:
        submission = measured(owner=alice).submission
        for _ in range(26):
            told(alice, submission=submission)
        assert as_alice.get("/notices/").content.decode().count('<li class="unread">') == 25
        assert as_alice.get("/notices/?page=2").content.decode().count('<li class="unread">') == 1

    def test_what_is_not_theirs_any_more_is_gone(self, as_alice: Client, alice: User, bob: User) -> None:
        moved = told(alice)
        Submission.objects.update(owner=bob)
        ended = told(alice, "review")
        ReviewerFactory(user=alice)
        assert bell(as_alice) == ": 1 unread"
        Reviewer.objects.update(active=False)
        assert bell(as_alice) == ""
        assert [as_alice.get(f"/notices/{each.pk}/").status_code for each in (moved, ended)] == [404, 404]

    def test_of_appeals_only_owners_and_maintainers_read(self, client: Client, alice: User, maintainer: User) -> None:
        his, hers = appealed(maintainer), appealed(alice, owner=alice)
        stray = appealed(alice)
        codes: Callable[[], list[int]] = lambda: [  # noqa: E731
            client.get(f"/notices/{each.pk}/").status_code for each in (his, hers, stray)
        ]
        client.force_login(maintainer)
        assert codes() == [302, 404, 404]
        client.force_login(alice)
        assert codes() == [404, 302, 404]
        User.objects.filter(pk=maintainer.pk).update(is_staff=False)
        client.force_login(maintainer)
        assert codes() == [404, 404, 404]


class TestOpening:
    def test_marks_it_as_read_and_leads_on(self, as_alice: Client, alice: User) -> None:
        notice, other = told(alice), told(alice)
        assert notice.submission is not None
        assert as_alice.head(f"/notices/{notice.pk}/").status_code == 302
        assert bell(as_alice) == ": 2 unread"
        opened = as_alice.get(f"/notices/{notice.pk}/")
        assert opened.headers["Location"] == notice.submission.get_absolute_url()
        assert list(Notice.objects.filter(read=None)) == [other]

    def test_an_appeal_leads_to_its_case_while_that_is_public(self, as_alice: Client, alice: User) -> None:
        notice = appealed(alice, owner=alice)
        assert notice.case is not None
        where = [as_alice.get(f"/notices/{notice.pk}/").headers["Location"]]
        Submission.objects.update(visibility="hidden")
        where.append(as_alice.get(f"/notices/{notice.pk}/").headers["Location"])
        assert where == [f"/cases/{notice.case.pk}/", notice.case.implementation.get_absolute_url()]

    def test_all_at_once(self, as_alice: Client, alice: User, bob: User) -> None:
        told(alice), told(alice), told(bob)
        answer = as_alice.post("/notices/read/", follow=True)
        assert "All notices are marked as read." in answer.content.decode()
        assert [each.recipient for each in Notice.objects.filter(read=None)] == [bob]

    def test_what_waits_for_review_leads_to_reviewing(self, as_alice: Client, alice: User) -> None:
        ReviewerFactory(user=alice)
        assert as_alice.get(f"/notices/{told(alice, 'review').pk}/").headers["Location"] == "/reviews/"
        assert not Case.objects.exists()


class TestMails:
    def test_without_a_server_nothing_is_offered(self, as_alice: Client) -> None:
        page = as_alice.get("/accounts/notices/").content.decode()
        assert "sends no notices by e-mail" in page
        assert "checkbox" not in page
        as_alice.post("/accounts/notices/", {"kinds": ["scored"]})
        assert not MailChoice.objects.exists()

    def test_choosing(self, as_alice: Client, alice: User, settings: Any) -> None:
        settings.EMAIL_CONFIGURED = True
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, site_address="https://board.example.org")
        assert "no verified primary address" in as_alice.get("/accounts/notices/").content.decode()
        EmailAddress.objects.create(user=alice, email=alice.email, verified=True, primary=True)
        page = as_alice.get("/accounts/notices/").content.decode()
        assert (page.count('type="checkbox"'), page.count("checked"), alice.email in page) == (8, 0, True)
        assert as_alice.post("/accounts/notices/", {"kinds": ["scored", "held"]}).status_code == 302
        assert as_alice.post("/accounts/notices/", {"kinds": ["held", "appeal"]}).status_code == 302
        assert set(MailChoice.objects.values_list("user__username", "kind")) == {("alice", "held"), ("alice", "appeal")}
        assert as_alice.get("/accounts/notices/").content.decode().count("checked") == 2
        assert as_alice.post("/accounts/notices/", {"kinds": ["none"]}).status_code == 422
        assert as_alice.post("/accounts/notices/", {}).status_code == 302
        assert not MailChoice.objects.exists()
