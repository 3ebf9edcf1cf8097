"""The maintainers' pages of reviewers: the list, invitations, roles."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind, CaseState
from reviews.models import Assignment, Case, Conflict, Invitation, Reviewer
from reviews.people.conflicts import add_conflict, remove_conflict
from reviews.people.reviewers import accept, invite, update_profile
from submissions.exceptions import QuotaExceededError
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory, assigned, case_of, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import DjangoAssertNumQueries

    from submissions.models import User

pytestmark = pytest.mark.django_db
BOTH: dict[str, Any] = {"annotator": True, "adjudicator": True}
PEOPLE, INVITE = "/reviews/people/", "/reviews/people/invite/"


@pytest.fixture
def carol() -> User:
    made: User = UserFactory(username="carol", is_staff=True)
    return made


@pytest.fixture
def as_carol(client: Client, carol: User) -> Client:
    client.force_login(carol)
    return client


class TestWhoMayEnter:
    @pytest.mark.parametrize("name", ["review_people", "review_person", "review_invite", "review_invitation_revoke"])
    def test_maintainers_only(self, client: Client, carol: User, name: str) -> None:
        reviewer = ready(adjudicator=True)
        invitation, _ = invite(actor=carol, annotator=True, adjudicator=False)
        numbers = {"review_person": [reviewer.pk], "review_invitation_revoke": [invitation.pk]}
        address = reverse(name, args=numbers.get(name, []))
        typed = {"annotator": "on", "adjudicator": "on", "active": "on", "reason": "I want to"}
        assert [client.get(address).status_code, client.post(address, typed).status_code] == [302, 302]
        assert reviewer.user is not None
        client.force_login(reviewer.user)
        assert client.post(address, typed).status_code == 404
        assert client.get(address).status_code in {404, 302}
        assert client.get(address, follow=True).status_code == 404
        assert (Invitation.objects.filter(revoked=None).count(), Reviewer.objects.get().is_adjudicator) == (1, True)


class TestList:
    def test_it_shows_roles_labels_and_the_last_activity(self, as_carol: Client) -> None:
        busy = ready(adjudicator=True, pseudonym="Amber Wren 10", affiliation="Alpha Lab")
        reviewed(case_of(), busy, "CC", locked=timezone.now() - timedelta(days=3))
        reviewed(case_of(kind=CaseKind.PRACTICE), busy, "CC", locked=timezone.now() - timedelta(days=4))
        Assignment.objects.update(created=timezone.now() - timedelta(days=2))
        ReviewerFactory(user=None, active=False, pseudonym="Imported One")
        response = as_carol.get(PEOPLE)
        rows = [
            (row.pseudonym, row.labels, last and (timezone.now() - last).days) for row, last in response.context["rows"]
        ]
        assert rows == [("Amber Wren 10", 1, 2), ("Imported One", 0, None)]
        text = text_of(response)  # type: ignore[arg-type]
        assert ("annotator, adjudicator" in text, "none: labels were imported" in text) == (True, True)

    def test_nobody_yet(self, as_carol: Client) -> None:
        assert "Nobody reviews yet." in as_carol.get(PEOPLE).content.decode()

    def test_it_shows_no_labels_of_open_cases(self, as_carol: Client) -> None:
        review = reviewed(case_of(state=CaseState.ONE_LABEL), ready(), "LI", note="marker-note")
        for address in (PEOPLE, reverse("review_person", args=[review.reviewer_id])):
            page = as_carol.get(address).content.decode()
            assert (">LI<" in page, "marker-note" in page) == (False, False)

    @pytest.mark.parametrize("number", [1, 4])
    def test_queries_do_not_grow(
        self, as_carol: Client, carol: User, number: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for _ in range(number):
            reviewed(case_of(), ready(), "CC")
            secret = invite(actor=UserFactory(is_staff=True), annotator=True, adjudicator=False)[1]
            accept(user=UserFactory(), secret=secret)
        with django_assert_num_queries(4):
            as_carol.get(PEOPLE)
        reviewer = Reviewer.objects.filter(reviews__isnull=False).first()
        assert reviewer is not None
        Conflict.objects.bulk_create([Conflict(reviewer=reviewer, organisation=f"O{at}") for at in range(number)])
        with django_assert_num_queries(5):
            as_carol.get(reverse("review_person", args=[reviewer.pk]))


class TestInviting:
    def test_the_link_is_shown_once_and_works(self, as_carol: Client) -> None:
        response = as_carol.post(INVITE, {"annotator": "on", "note": "for Dana"}, follow=True)
        link = re.search(r'value="http://testserver(/reviews/join/[\w-]+/)"', response.content.decode())
        assert link is not None
        assert 'data-copies="invitation-link" hidden>Copy</button>' in response.content.decode()
        again = as_carol.get(PEOPLE).content.decode()
        assert (link[1] in again, "for Dana" in again) == (False, True)
        dana = UserFactory()
        as_carol.force_login(dana)
        as_carol.post(link[1])
        made = Reviewer.objects.get()
        assert (made.user, made.is_annotator, made.is_adjudicator) == (dana, True, False)

    def test_without_a_role_nothing_is_made(self, as_carol: Client) -> None:
        response = as_carol.post(INVITE, {"note": "for Dana"})
        page = response.content.decode()
        assert (response.status_code, "Choose at least one role." in page, 'value="for Dana"' in page) == (
            422,
            True,
            True,
        )
        assert not Invitation.objects.exists()

    def test_newcomers_find_the_practice_round(self, as_carol: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = list[bool]()
        monkeypatch.setattr("reviews.people.practice.ensure_practice", lambda: asked.append(True))
        as_carol.post(INVITE, {"annotator": "on"})
        assert asked == [True]

    def test_an_invitation_does_not_need_the_practice_round(
        self, as_carol: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> None:
            raise QuotaExceededError("No submission is left.")

        monkeypatch.setattr("reviews.people.practice.ensure_practice", fail)
        page = as_carol.post(INVITE, {"annotator": "on"}, follow=True).content.decode()
        assert ("no practice items yet: No submission is left." in page, "/reviews/join/" in page) == (True, True)

    def test_revoking(self, as_carol: Client, carol: User) -> None:
        invitation, secret = invite(actor=carol, annotator=True, adjudicator=False)
        address = reverse("review_invitation_revoke", args=[invitation.pk])
        assert address in as_carol.get(PEOPLE).content.decode()
        assert "works no more" in as_carol.post(address, follow=True).content.decode()
        page = as_carol.post(address, follow=True).content.decode()
        assert ("used or revoked already" in page, f'action="{address}"' in page) == (True, False)
        assert as_carol.get(reverse("review_join", args=[secret])).status_code == 410


class TestRoles:
    def test_changing_them_takes_a_reason_and_hands_back(self, as_carol: Client) -> None:
        reviewer = ready(pseudonym="Amber Wren 10")
        held = assigned(case_of(state=CaseState.LEASED), reviewer)
        address = reverse("review_person", args=[reviewer.pk])
        form = as_carol.get(address).context["form"]
        assert form.initial == {"annotator": True, "adjudicator": False, "active": True}
        page = as_carol.post(address, {"adjudicator": "on", "active": "on", "reason": "long <b>service"}, follow=True)
        reviewer.refresh_from_db()
        held.refresh_from_db()
        assert (reviewer.is_annotator, reviewer.is_adjudicator, held.state, Case.objects.get().state) == (
            False,
            True,
            AssignmentState.RETURNED,
            CaseState.QUEUED,
        )
        assert "Amber Wren 10: the roles are changed; the item at hand went back" in text_of(page)  # type: ignore[arg-type]
        history = as_carol.get(address).content.decode()
        assert "changed the reviewer, not annotator, now adjudicator: long &lt;b&gt;service" in history

    def test_the_history_says_what_the_person_changed(self, as_carol: Client) -> None:
        reviewer = accept(user=UserFactory(), secret=invite(actor=UserFactory(is_staff=True), **BOTH)[1])
        add_conflict(reviewer=reviewer, organisation="Gamma <b>")
        remove_conflict(reviewer=reviewer, conflict=reviewer.conflicts.get())
        update_profile(
            reviewer=reviewer, name="Dana", shows_name=True, affiliation="Alpha", expertise="", confirmed=True
        )
        page = as_carol.get(reverse("review_person", args=[reviewer.pk])).content.decode()
        told = re.findall(r"(?:changed the reviewer|joined the reviewers), ([^<]+)</li>", page)
        assert told == [
            "profile: affiliation, name, shows name",
            "no conflict with Gamma &lt;b&gt; now",
            "new conflict with Gamma &lt;b&gt;",
            "as annotator and adjudicator",
        ]

    @pytest.mark.parametrize(
        ("typed", "said"),
        [
            ({"annotator": "on", "active": "on", "reason": "again"}, "has exactly these roles already"),
            ({"active": "on", "reason": ""}, "This field is required"),
        ],
    )
    def test_what_is_refused(self, as_carol: Client, typed: dict[str, str], said: str) -> None:
        reviewer = ready()
        response = as_carol.post(reverse("review_person", args=[reviewer.pk]), typed)
        reviewer.refresh_from_db()
        assert (response.status_code, said in response.content.decode(), reviewer.is_annotator) == (422, True, True)
