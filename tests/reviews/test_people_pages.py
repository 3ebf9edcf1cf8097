"""The maintainers' pages of reviewers: the list, invitations, roles."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind, CaseState
from reviews.models import Assignment, Case, Invitation, Reviewer
from reviews.people.conflicts import add_conflict, remove_conflict
from reviews.people.invitations import accept, invite
from reviews.people.reviewers import update_profile
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory, assigned, case_of, ready, reviewed
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db
PEOPLE, INVITE = "/reviews/people/", "/reviews/people/invite/"


@pytest.mark.parametrize("name", ["review_people", "review_person", "review_invite", "review_invitation_revoke"])
def test_they_are_for_maintainers_only(client: Client, maintainer: User, name: str) -> None:
    reviewer = ready(adjudicator=True)
    invitation, _ = invite(actor=maintainer, annotator=True, adjudicator=False)
    numbers = {"review_person": [reviewer.pk], "review_invitation_revoke": [invitation.pk]}
    address = reverse(name, args=numbers.get(name, []))
    typed = {"annotator": "on", "adjudicator": "on", "active": "on", "reason": "I want to"}
    assert [client.get(address).status_code, client.post(address, typed).status_code] == [302, 302]
    client.force_login(reviewer.user)  # type: ignore[arg-type]
    assert client.post(address, typed).status_code == 404
    assert client.get(address, follow=True).status_code == 404
    assert (Invitation.objects.filter(revoked=None).count(), Reviewer.objects.get().is_adjudicator) == (1, True)


class TestList:
    def test_it_shows_roles_and_activity_but_no_labels(self, as_maintainer: Client) -> None:
        assert "Nobody reviews yet." in as_maintainer.get(PEOPLE).content.decode()
        busy = ready(adjudicator=True, pseudonym="Amber Wren 10")
        ago = timezone.now() - timedelta(days=3)
        reviewed(case_of(state=CaseState.ONE_LABEL), busy, "LI", note="marker-note", locked=ago)
        reviewed(case_of(kind=CaseKind.PRACTICE), busy, "CC", locked=ago)
        Assignment.objects.update(created=timezone.now() - timedelta(days=2))
        ReviewerFactory(user=None, active=False, pseudonym="Imported One")
        response: Any = as_maintainer.get(PEOPLE)
        now = timezone.now()
        rows = [(row.pseudonym, row.labels, last and (now - last).days) for row, last in response.context["rows"]]
        assert rows == [("Amber Wren 10", 1, 2), ("Imported One", 0, None)]
        text = text_of(response)
        assert ("annotator, adjudicator" in text, "none: labels were imported" in text) == (True, True)
        page = response.content.decode() + as_maintainer.get(f"{PEOPLE}{busy.pk}/").content.decode()
        assert (">LI<" in page, "marker-note" in page) == (False, False)


class TestRoles:
    def test_changing_them_takes_a_reason_and_hands_back(self, as_maintainer: Client) -> None:
        reviewer = ready(pseudonym="Amber Wren 10")
        held = assigned(case_of(state=CaseState.LEASED), reviewer)
        address = reverse("review_person", args=[reviewer.pk])
        initial = as_maintainer.get(address).context["form"].initial
        assert initial == {"annotator": True, "adjudicator": False, "active": True}
        typed = {"adjudicator": "on", "active": "on", "reason": "long <b>service"}
        page: Any = as_maintainer.post(address, typed, follow=True)
        reviewer.refresh_from_db()
        held.refresh_from_db()
        assert (reviewer.is_annotator, reviewer.is_adjudicator) == (False, True)
        assert (held.state, Case.objects.get().state) == (AssignmentState.RETURNED, CaseState.QUEUED)
        assert "Amber Wren 10: the roles are changed; the item at hand went back" in text_of(page)
        history = as_maintainer.get(address).content.decode()
        assert "changed the reviewer, not annotator, now adjudicator: long &lt;b&gt;service" in history

    def test_the_history_says_what_the_reviewer_changed(self, as_maintainer: Client, maintainer: User) -> None:
        reviewer = accept(user=UserFactory(), secret=invite(actor=maintainer, annotator=True, adjudicator=True)[1])
        add_conflict(reviewer=reviewer, organisation="Gamma <b>")
        remove_conflict(reviewer=reviewer, conflict=reviewer.conflicts.get())
        facts: Any = {"name": "Dana", "shows_name": True, "affiliation": "Alpha", "expertise": "", "confirmed": True}
        update_profile(reviewer=reviewer, **facts)
        page = as_maintainer.get(reverse("review_person", args=[reviewer.pk])).content.decode()
        assert re.findall(r"(?:changed the reviewer|joined the reviewers), ([^<]+)</li>", page) == [
            "profile: affiliation, conflicts confirmed, name, shows name",
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
    def test_what_is_refused(
        self, as_maintainer: Client, annotator: Reviewer, typed: dict[str, str], said: str
    ) -> None:
        response = as_maintainer.post(reverse("review_person", args=[annotator.pk]), typed)
        annotator.refresh_from_db()
        assert (response.status_code, said in response.content.decode(), annotator.is_annotator) == (422, True, True)
