"""Pages of teams, of their invitations, and of handing over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evaluator.models import Generation
from submissions.domain import quotas, teams
from submissions.enums import TeamRole
from submissions.models import Endpoint, Membership, Submission, Team, TeamInvitation, Upload
from tests.submissions.endpoints.factories import DESCRIBED, EndpointFactory
from tests.submissions.factories import RIGHT, SubmissionFactory, UserFactory, bundle, checked_by_worker

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db
PAGE, MINE = "/teams/lynx/", "/my/"


@pytest.fixture
def team(alice: User) -> Team:
    return teams.create(actor=alice, name="Lynx")


@pytest.fixture
def as_bob(bob: User) -> Client:
    made = Client()
    made.force_login(bob)
    return made


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def invited(as_owner: Client, role: str = "member") -> str:
    """Create an invitation on the page; return the address of its link, which is shown once."""
    assert as_owner.post(f"{PAGE}invite/", {"role": role, "note": "Bob"}).status_code == 302
    found = re.search(r'value="http://testserver(/team-invitations/[^"]+)"', as_owner.get(PAGE).content.decode())
    assert found
    assert found[1] not in as_owner.get(PAGE).content.decode()
    return found[1]


def test_create_invite_join_and_leave(as_alice: Client, as_bob: Client, bob: User) -> None:
    assert as_alice.post("/teams/", {"name": "Lynx"}).headers["Location"] == PAGE
    link = invited(as_alice)
    assert as_bob.get(PAGE).status_code == 404
    shown = text(as_bob.get(link))
    assert "You are invited to the team Lynx , as member." in shown
    assert as_bob.post(link).headers["Location"] == PAGE
    assert as_bob.get(link).headers["Location"] == "/teams/", "a used link leads its user to the teams"
    page = text(as_bob.get(PAGE))
    assert "2 members" in page
    assert "Create an invitation" not in page
    member = Membership.objects.get(user=bob)
    left = as_bob.post(f"{PAGE}members/{member.pk}/remove/", follow=True)
    assert "You have left Lynx. What you sent for it stays with it." in text(left)
    assert as_bob.get(PAGE).status_code == 404


def test_a_link_that_is_gone_or_unknown(as_alice: Client, as_bob: Client, team: Team) -> None:
    link = invited(as_alice)
    page = as_alice.post(f"{PAGE}invitations/{TeamInvitation.objects.get().pk}/revoke/", follow=True)
    assert "The invitation is revoked: its link no longer works." in text(page)
    gone = as_bob.get(link)
    assert (gone.status_code, "This invitation was revoked." in text(gone)) == (410, True)
    assert as_bob.post(link).status_code == 410
    assert as_bob.get("/team-invitations/guessed/").status_code == 404


def test_visitors_sign_in_to_join(as_alice: Client, team: Team) -> None:
    link, visitor = invited(as_alice), Client()
    assert f"/accounts/login/?next={link}" in visitor.get(link).content.decode()
    assert visitor.post(link).headers["Location"] == f"/accounts/login/?next={link}"
    assert Membership.objects.count() == 1


def test_a_refused_name_keeps_what_was_typed(as_bob: Client, team: Team) -> None:
    refused = as_bob.post("/teams/", {"name": "LYNX"})
    assert refused.status_code == 422
    assert "There is another team called LYNX; choose another name." in text(refused)
    assert 'value="LYNX"' in refused.content.decode()
    hidden = as_bob.post("/teams/", {"name": "Ly\u202enx"})
    assert "control or direction character" in text(hidden)


def test_owners_change_roles_rename_and_remove(as_alice: Client, bob: User, team: Team) -> None:
    member = Membership.objects.create(team=team, user=bob, role=TeamRole.MEMBER)
    page = as_alice.post(f"{PAGE}members/{member.pk}/role/", {"role": "viewer"}, follow=True)
    assert "bob: viewer." in text(page)
    page = as_alice.post(f"{PAGE}members/{member.pk}/role/", {"role": "king"}, follow=True)
    assert "Choose one of the roles owner, member, viewer." in text(page)
    page = as_alice.post(f"{PAGE}rename/", {"name": "Caracal"}, follow=True)
    assert "The team is renamed; its address stays." in text(page)
    assert "name: Lynx → Caracal" in text(page)
    page = as_alice.post(f"{PAGE}rename/", {"name": ""})
    assert (page.status_code, "This field is required." in text(page)) == (422, True)
    page = as_alice.post(f"{PAGE}members/{member.pk}/remove/", follow=True)
    assert "bob is no longer in Caracal." in text(page)
    own = Membership.objects.get()
    page = as_alice.post(f"{PAGE}members/{own.pk}/role/", {"role": "viewer"}, follow=True)
    assert "alice is the only owner of Caracal" in text(page)


@pytest.mark.parametrize("role", ["member", "viewer"])
def test_others_cannot_lead_it(as_bob: Client, bob: User, alice: User, team: Team, role: str) -> None:
    Membership.objects.create(team=team, user=bob, role=role)
    owner = Membership.objects.get(user=alice)
    invitation, _ = teams.invite(team=team, actor=alice, role="member", note="SECRET-NOTE")
    assert "SECRET-NOTE" not in as_bob.get(PAGE).content.decode()
    for address, typed in (
        ("rename/", {"name": "Bob's"}),
        ("invite/", {"role": "owner"}),
        (f"invitations/{invitation.pk}/revoke/", {}),
        (f"members/{owner.pk}/role/", {"role": "viewer"}),
        (f"members/{owner.pk}/remove/", {}),
    ):
        refused = as_bob.post(f"{PAGE}{address}", typed, follow=True)
        assert "Only owners of Lynx and maintainers may do this." in text(refused), address
    assert (Team.objects.get().name, Membership.objects.get(user=alice).role) == ("Lynx", "owner")
    assert TeamInvitation.objects.get().revoked is None


def test_rows_of_another_team_are_not_reached_through_an_own_one(as_bob: Client, bob: User, team: Team) -> None:
    teams.create(actor=bob, name="Other")
    owner = team.memberships.get()
    for act in ("role", "remove"):
        assert as_bob.post(f"/teams/other/members/{owner.pk}/{act}/", {"role": "viewer"}).status_code == 404
    assert team.memberships.get().role == "owner"


def test_a_member_submits_for_the_team(
    as_bob: Client, bob: User, alice: User, small: SuiteVersion, team: Team, as_alice: Client
) -> None:
    Membership.objects.create(team=team, user=bob, role=TeamRole.MEMBER)
    as_bob.post("/submit/", {"content": "bundle", "file": SimpleUploadedFile("a.zip", bundle({"alpha/1": RIGHT}))})
    checked_by_worker()
    check = f"/submit/{Upload.objects.get().pk}/"
    page = text(as_bob.get(check))
    assert "bob alone" in page
    assert "Lynx (10 left today)" in page
    as_bob.post(check, {"team": "lynx"})
    made = Submission.objects.get()
    assert (made.owner, made.team) == (bob, team)
    mine = text(as_alice.get(MINE))
    assert "team Lynx" in mine
    assert "None of your submissions matches" in text(as_alice.get(f"{MINE}?team=-"))
    assert "1 submission" in text(as_alice.get(f"{MINE}?team=lynx"))
    assert "Team Lynx" in text(as_alice.get(made.get_absolute_url()))


def test_an_endpoint_is_registered_for_the_team(as_alice: Client, as_bob: Client, bob: User, team: Team) -> None:
    Membership.objects.create(team=team, user=bob, role=TeamRole.MEMBER)
    typed = {
        **{name: value for name, value in DESCRIBED.items() if name not in {"provider", "keep_key"}},
        "max_output_tokens": 8192,
        "context_tokens": 128_000,
        "requests_at_once": 2,
        "request_seconds": 300,
        "run_seconds": 21_600,
        "team": "lynx",
    }
    assert as_alice.post("/endpoints/new/", typed).status_code == 302
    made = Endpoint.objects.get()
    assert made.team == team
    assert "Lynx" in text(as_bob.get("/endpoints/"))
    assert as_bob.get(made.get_absolute_url()).status_code == 200


def test_a_handed_over_endpoint_does_not_show_earlier_runs(
    as_alice: Client, as_bob: Client, alice: User, bob: User, team: Team
) -> None:
    Membership.objects.create(team=team, user=bob, role=TeamRole.MEMBER)
    endpoint = EndpointFactory(owner=alice)
    private = SubmissionFactory(owner=alice, system__name="SECRET-SYSTEM")
    Generation.objects.create(submission=private, endpoint=endpoint, prompt_version="1", state="done")
    assert as_bob.get(f"/endpoints/{endpoint.pk}/hand-over/").status_code == 404
    refused = as_alice.post(f"/endpoints/{endpoint.pk}/hand-over/", {"team": "lynx"})
    assert "Tick the box to confirm" in text(refused)
    done = as_alice.post(f"/endpoints/{endpoint.pk}/hand-over/", {"team": "lynx", "confirm": "on"}, follow=True)
    assert "now belongs to Lynx." in text(done)
    assert "SECRET-SYSTEM" in text(done)
    assert "SECRET-SYSTEM" not in text(as_bob.get(endpoint.get_absolute_url()))


def test_a_system_is_handed_over(as_alice: Client, as_bob: Client, alice: User, bob: User, team: Team) -> None:
    Membership.objects.create(team=team, user=bob, role=TeamRole.VIEWER)
    submission = SubmissionFactory(owner=alice)
    address = reverse("system_hand_over", args=[submission.system.slug])
    assert "Hand this system over to a team" in text(as_alice.get(submission.system.get_absolute_url()))
    assert "its 1 submission will belong to the team" in text(as_alice.get(address))
    assert as_bob.get(submission.get_absolute_url()).status_code == 404
    as_alice.post(address, {"team": "lynx", "confirm": "on"})
    assert as_bob.get(submission.get_absolute_url()).status_code == 200
    assert as_alice.get(address).status_code == 404


def test_without_a_team_nothing_can_be_handed_over(as_bob: Client, bob: User) -> None:
    submission = SubmissionFactory(owner=bob)
    page = text(as_bob.get(reverse("system_hand_over", args=[submission.system.slug])))
    assert "You are in no team for which you may submit." in page


class TestMaintaining:
    """The maintainers' list, with the limits of teams."""

    def test_a_limit_is_set_and_kept_when_refused(self, as_maintainer: Client, team: Team) -> None:
        assert "1 team" in text(as_maintainer.get("/maintain/teams/?q=alice"))
        assert "No team matches" in text(as_maintainer.get("/maintain/teams/?q=bob"))
        typed = {"slug": "lynx", "daily": 40, "reason": "a large study"}
        done = as_maintainer.post("/maintain/teams/quota/", typed, follow=True)
        assert "Lynx may submit 40 times a day." in text(done)
        assert quotas.limit(Team.objects.get()) == 40
        refused = as_maintainer.post("/maintain/teams/quota/", {**typed, "daily": -1})
        assert refused.status_code == 422
        assert 'value="a large study"' in refused.content.decode()
        unknown = as_maintainer.post("/maintain/teams/quota/", {**typed, "slug": "none"})
        assert "There is no such team" in text(unknown)
        assert quotas.limit(Team.objects.get()) == 40

    def test_the_lists_need_the_same_queries_for_many_rows(self, as_maintainer: Client, maintainer: User) -> None:
        counts = []
        for _ in range(2):
            for _ in range(3):
                made = teams.create(actor=UserFactory(), name=f"Team {Team.objects.count()}")
                Membership.objects.create(team=made, user=maintainer, role=TeamRole.VIEWER)
                SubmissionFactory(team=made)
            with CaptureQueriesContext(
                connection,
            ) as listed:
                as_maintainer.get("/maintain/teams/")
            with CaptureQueriesContext(connection) as mine:
                as_maintainer.get("/teams/")
            with CaptureQueriesContext(connection) as sent:
                as_maintainer.get(MINE)
            counts.append((len(listed), len(mine), len(sent)))
        assert counts[0] == counts[1]
