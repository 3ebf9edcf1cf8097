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
from leaderboard.web.forms import OCCASIONS
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


def notice_to(owner: User, kind: str = "scored", **facts: Any) -> Notice:
    """A notice about a published submission of ``owner``."""
    if kind != "review" and "submission" not in facts:
        facts["submission"] = measured(owner=owner).submission
    key = str(Notice.objects.count())
    return Notice.objects.create(recipient=owner, kind=kind, key=key, made=timezone.now(), **facts)


def bell(client: Client) -> str:
    """The bell's count in words, for screen readers."""
    page = client.get("/docs/").content.decode()
    return page.partition('<span class="visually-hidden">Notices')[2].partition("</span>")[0]


def appealed(person: User, **facts: Any) -> Notice:
    (answer,) = answers(**facts)
    case = case_of(answer, state=CaseState.FINAL, label="LI", source="decision", closed=timezone.now())
    return notice_to(person, "appeal", submission=answer.submission, case=case)


class TestBell:
    def test_counts_unread_notices(self, as_alice: Client, alice: User) -> None:
        assert bell(as_alice) == ""
        notice_to(alice)
        notice_to(alice, read=timezone.now())
        notice_to(UserFactory())
        assert bell(as_alice) == ": 1 unread"

    def test_visitors_have_no_bell(self, client: Client, alice: User) -> None:
        notice_to(alice)
        page = client.get("/docs/").content.decode()
        assert 'class="bell' not in page

    def test_the_bell_needs_one_query(self, as_alice: Client, client: Client, alice: User) -> None:
        for _ in range(3):
            notice_to(alice)
        with CaptureQueriesContext(connection) as queries:
            as_alice.get("/docs/")
        assert [query["sql"].count("COUNT(") for query in queries if "leaderboard_notice" in query["sql"]] == [1]


class TestList:
    def test_lists_own_notices_newest_first(self, as_alice: Client, alice: User) -> None:
        first, second = notice_to(alice), notice_to(alice, "held")
        other = notice_to(UserFactory())
        page = as_alice.get("/notices/").content.decode()
        assert page.index(f"/notices/{second.pk}/") < page.index(f"/notices/{first.pk}/")
        assert f"/notices/{other.pk}/" not in page
        assert as_alice.get(f"/notices/{other.pk}/").status_code == 404

    def test_an_empty_list_names_the_kinds_of_notices(self, as_alice: Client) -> None:
        text = words_of(as_alice.get("/notices/"))
        assert "No notices." in text
        assert set(OCCASIONS) == set(NoticeKind)
        assert " ".join(OCCASIONS.values()) in text

    def test_queries_do_not_grow_with_notices(self, as_alice: Client, alice: User) -> None:
        counts = []
        for _ in range(2):
            for _ in range(5):
                notice_to(alice)
                appealed(alice, owner=alice)
            with CaptureQueriesContext(connection) as queries:
                as_alice.get("/notices/")
            counts.append(len(queries))
        assert counts[0] == counts[1]

    def test_is_paged(self, as_alice: Client, alice: User) -> None:
        submission = measured(owner=alice).submission
        for _ in range(26):
            notice_to(alice, submission=submission)
        assert as_alice.get("/notices/").content.decode().count('<li class="unread">') == 25
        assert as_alice.get("/notices/?page=2").content.decode().count('<li class="unread">') == 1

    def test_notices_disappear_with_ownership_or_role(self, as_alice: Client, alice: User, bob: User) -> None:
        moved = notice_to(alice)
        Submission.objects.update(owner=bob)
        ended = notice_to(alice, "review")
        ReviewerFactory(user=alice)
        assert bell(as_alice) == ": 1 unread"
        Reviewer.objects.update(active=False)
        assert bell(as_alice) == ""
        assert [as_alice.get(f"/notices/{each.pk}/").status_code for each in (moved, ended)] == [404, 404]

    def test_only_owners_and_maintainers_read_notices_of_appeals(
        self, client: Client, alice: User, maintainer: User
    ) -> None:
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
    def test_opening_marks_a_notice_as_read_and_redirects(self, as_alice: Client, alice: User) -> None:
        notice, other = notice_to(alice), notice_to(alice)
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

    def test_all_notices_can_be_marked_as_read_at_once(self, as_alice: Client, alice: User, bob: User) -> None:
        notice_to(alice), notice_to(alice), notice_to(bob)
        answer = as_alice.post("/notices/read/", follow=True)
        assert "All notices are marked as read." in answer.content.decode()
        assert [each.recipient for each in Notice.objects.filter(read=None)] == [bob]

    def test_a_notice_of_open_reviews_leads_to_reviewing(self, as_alice: Client, alice: User) -> None:
        ReviewerFactory(user=alice)
        assert as_alice.get(f"/notices/{notice_to(alice, 'review').pk}/").headers["Location"] == "/reviews/"
        assert not Case.objects.exists()


class TestMails:
    def test_without_a_server_nothing_is_offered(self, as_alice: Client) -> None:
        page = as_alice.get("/accounts/notices/").content.decode()
        assert "sends no notices by e-mail" in page
        assert "checkbox" not in page
        as_alice.post("/accounts/notices/", {"kinds": ["scored"]})
        assert not MailChoice.objects.exists()

    def test_kinds_can_be_chosen_once_there_is_a_verified_address(
        self, as_alice: Client, alice: User, settings: Any
    ) -> None:
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
