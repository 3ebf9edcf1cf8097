"""Invitations: a link gives its roles to one user until it expires or is revoked; and their pages."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from reviews.annotators.invitations import accept, invite, revoke, unused_pseudonym
from reviews.exceptions import ReviewError
from reviews.models import Invitation, Reviewer
from submissions.enums import Verb
from submissions.exceptions import NotAllowedError, QuotaExceededError
from submissions.models import AuditEvent
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory
from tests.submissions.factories import PASSWORD, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db
HOME, PEOPLE, INVITE = "/reviews/", "/reviews/people/", "/reviews/people/invite/"


def secret_of(maintainer: User, **roles: Any) -> str:
    return invite(actor=maintainer, **{"annotator": True, "adjudicator": False, **roles})[1]


@pytest.fixture
def address(maintainer: User) -> str:
    """The link of an invitation."""
    return reverse("review_join", args=[secret_of(maintainer)])


def test_a_link_makes_one_reviewer(maintainer: User) -> None:
    invitation, secret = invite(actor=maintainer, annotator=True, adjudicator=True, note="for Dana")
    days = (invitation.expires - timezone.now()).total_seconds() / 86400
    assert (len(secret) >= 43, secret in str(vars(invitation)), 13.9 < days <= 14) == (True, False, True)
    dana = UserFactory()
    made = accept(user=dana, secret=secret)
    invitation.refresh_from_db()
    assert (made.user, made.roles, made.active) == (dana, ["annotator", "adjudicator"], True)
    assert (invitation.used_by, invitation.used is not None) == (made, True)
    events = AuditEvent.objects.order_by("pk").values_list("verb", "actor")
    assert list(events) == [(Verb.INVITED, maintainer.pk), (Verb.JOINED, dana.pk)]
    assert accept(user=dana, secret=secret) == made
    with pytest.raises(ReviewError, match="has been used: each link works once"):
        accept(user=UserFactory(), secret=secret)
    assert Reviewer.objects.count() == 1


@pytest.mark.parametrize(
    ("revoked", "minutes", "message"),
    [(False, 1, ""), (False, 0, "has expired: links last 14 days"), (True, 1, "was revoked")],
)
def test_a_link_is_valid_to_its_last_minute(maintainer: User, revoked: bool, minutes: int, message: str) -> None:
    now, secret = timezone.now(), secret_of(maintainer)
    Invitation.objects.update(expires=now + timedelta(minutes=minutes), revoked=now if revoked else None)
    if not message:
        assert accept(user=UserFactory(), secret=secret).is_annotator
        return
    with pytest.raises(ReviewError, match=message):
        accept(user=UserFactory(), secret=secret)
    assert not Reviewer.objects.exists()


def test_a_second_link_adds_its_role_or_stays_unused(maintainer: User, reviewer: Reviewer) -> None:
    assert reviewer.user is not None
    assert accept(user=reviewer.user, secret=secret_of(maintainer, annotator=False, adjudicator=True)) == reviewer
    reviewer.refresh_from_db()
    assert reviewer.roles == ["annotator", "adjudicator"]
    secret = secret_of(maintainer)
    with pytest.raises(ReviewError, match="it stays valid for another user"):
        accept(user=reviewer.user, secret=secret)
    with pytest.raises(ReviewError, match="maintainer has deactivated you"):
        accept(user=ReviewerFactory(active=False).user, secret=secret)
    with pytest.raises(ReviewError, match="no such invitation"):
        accept(user=UserFactory(), secret=secret[:-1])
    assert accept(user=UserFactory(), secret=secret).is_annotator


def test_only_maintainers_invite_and_revoke_unused_invitations(maintainer: User) -> None:
    with pytest.raises(NotAllowedError):
        invite(actor=UserFactory(), annotator=True, adjudicator=True)
    invitation, _ = invite(actor=maintainer, annotator=True, adjudicator=False)
    with pytest.raises(NotAllowedError):
        revoke(actor=UserFactory(), invitation=invitation)
    revoke(actor=maintainer, invitation=invitation)
    used, secret = invite(actor=maintainer, annotator=True, adjudicator=False)
    accept(user=UserFactory(), secret=secret)
    for ended in (invitation, used):
        with pytest.raises(ReviewError, match="already used or revoked"):
            revoke(actor=maintainer, invitation=ended)
    assert AuditEvent.objects.filter(verb=Verb.INVITATION_REVOKED).count() == 1


@pytest.mark.django_db(transaction=True)
def test_only_one_of_two_users_can_use_a_link() -> None:
    secret = secret_of(UserFactory(is_staff=True))
    people, outcomes, ready_both = [UserFactory(), UserFactory()], list[str](), threading.Barrier(2)

    def try_it(person: User) -> None:
        try:
            ready_both.wait(timeout=20)
            accept(user=person, secret=secret)
            outcomes.append("in")
        except ReviewError as error:
            outcomes.append(str(error)[:28])
        finally:
            connection.close()

    threads = [threading.Thread(target=try_it, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["This invitation has been use", "in"]
    assert Reviewer.objects.count() == 1


def test_pseudonyms_are_random_and_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(unused_pseudonym().split()) == 3
    ReviewerFactory(pseudonym="Amber Heron 10")
    draws = iter(["Amber", "Heron", "Amber", "Wren"])
    monkeypatch.setattr("random.SystemRandom.choice", lambda _self, _of: next(draws))
    monkeypatch.setattr("random.SystemRandom.randrange", lambda _self, start, _stop: start)
    assert unused_pseudonym() == "Amber Wren 10"


class TestInviting:
    def test_the_link_is_shown_once_and_works(self, as_maintainer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also if the practice round cannot be created."""

        def fail() -> None:
            raise QuotaExceededError("No submission is left.")

        monkeypatch.setattr("reviews.annotators.practice.ensure_practice", fail)
        page = as_maintainer.post(INVITE, {"annotator": "on", "note": "for Dana"}, follow=True).content.decode()
        link = re.search(r'value="http://testserver(/reviews/join/[\w-]+/)"', page)
        assert link is not None
        assert "no practice items yet: No submission is left." in page
        again = as_maintainer.get(PEOPLE).content.decode()
        assert (link[1] in again, "for Dana" in again) == (False, True)
        dana = UserFactory()
        as_maintainer.force_login(dana)
        as_maintainer.post(link[1])
        made = Reviewer.objects.get()
        assert (made.user, made.roles) == (dana, ["annotator"])

    def test_an_invitation_needs_a_role(self, as_maintainer: Client) -> None:
        response = as_maintainer.post(INVITE, {"note": "for Dana"})
        page = response.content.decode()
        assert (response.status_code, "Choose at least one role." in page) == (422, True)
        assert ('value="for Dana"' in page, Invitation.objects.exists()) == (True, False)

    def test_revoking(self, as_maintainer: Client, maintainer: User) -> None:
        invitation, secret = invite(actor=maintainer, annotator=True, adjudicator=False)
        address = reverse("review_invitation_revoke", args=[invitation.pk])
        assert address in as_maintainer.get(PEOPLE).content.decode()
        assert "no longer works" in as_maintainer.post(address, follow=True).content.decode()
        page = as_maintainer.post(address, follow=True).content.decode()
        assert ("already used or revoked" in page, f'action="{address}"' in page) == (True, False)
        assert as_maintainer.get(reverse("review_join", args=[secret])).status_code == 410


class TestJoining:
    def test_viewing_changes_nothing_and_accepting_leads_home(self, client: Client, address: str) -> None:
        client.force_login(UserFactory(username="dana"))
        text = text_of(client.get(address))  # type: ignore[arg-type]
        assert ("as annotator" in text, "Accept as dana" in text) == (True, True)
        assert (Reviewer.objects.count(), Invitation.objects.filter(used=None).count()) == (0, 1)
        response = client.post(address, follow=True)
        assert response.redirect_chain == [(HOME, 302)]
        assert f"Others will see you as {Reviewer.objects.get().pseudonym}" in response.content.decode()
        assert client.get(address)["Location"] == HOME
        client.force_login(UserFactory())
        for response in (client.get(address), client.post(address)):
            assert (response.status_code, "has been used" in response.content.decode()) == (410, True)

    def test_signed_out_users_return_to_the_invitation(self, client: Client, address: str) -> None:
        assert f'href="/accounts/login/?next={address}"' in client.get(address).content.decode()
        assert client.post(address)["Location"] == f"/accounts/login/?next={address}"
        typed = {"login": UserFactory().username, "password": PASSWORD, "next": address}
        assert client.post("/accounts/login/", typed)["Location"] == address
        assert not Reviewer.objects.exists()

    def test_a_link_that_gives_nothing_new_or_is_wrong(self, client: Client, address: str, reviewer: Reviewer) -> None:
        client.force_login(reviewer.user)  # type: ignore[arg-type]
        assert (client.post(address).status_code, client.get(f"{address[:-2]}/").status_code) == (409, 404)
