"""A user's teams through the API, and what belongs to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from submissions.domain import teams
from submissions.enums import TeamRole
from submissions.models import Membership, Submission
from tests.leaderboard.api.program import Program
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.factories import SubmissionFactory, bundle, checked_by_worker

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Team, User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("half_past_noon")]


@pytest.fixture
def team(alice: User, bob: User) -> Team:
    """Alice's team, in which Bob is a viewer."""
    made = teams.create(actor=alice, name="Lynx")
    Membership.objects.create(team=made, user=bob, role=TeamRole.VIEWER)
    return made


def test_listing(alice: User, bob: User, team: Team, maintainer: User) -> None:
    SubmissionFactory(owner=alice, team=team)
    of_alice = {"slug": "lynx", "name": "Lynx", "role": "owner", "submissions_a_day": 10, "submissions_left": 9}
    assert Program(alice).get("/teams")["items"] == [{**of_alice, "page": "/teams/lynx/"}]
    assert Program(bob).get("/teams")["items"] == [
        {**of_alice, "page": "/teams/lynx/", "role": "viewer", "submissions_left": 0}
    ]
    assert Program(maintainer).get("/teams")["items"] == []
    assert Program().problem("GET", "/teams")["status"] == 401


def test_submissions_of_a_team(alice: User, bob: User, team: Team, maintainer: User) -> None:
    shared, own = SubmissionFactory(owner=alice, team=team), SubmissionFactory(owner=alice)

    def listed(person: User | None, query: str) -> list[int]:
        return [each["id"] for each in Program(person).get(f"/submissions?{query}")["items"]]

    assert listed(alice, "mine=true") == [own.pk, shared.pk]
    assert listed(bob, "mine=true") == [shared.pk]
    assert listed(bob, "team=lynx") == [shared.pk]
    assert listed(None, "team=lynx") == listed(None, "mine=true") == []
    assert listed(maintainer, "mine=true") == []
    assert Program(bob).get(f"/submissions/{shared.pk}")["team"] == {"slug": "lynx", "name": "Lynx"}
    assert Program(bob).get(f"/submissions/{shared.pk}")["may"] == []
    assert Program(alice).get(f"/submissions/{own.pk}")["team"] is None
    assert Program(bob).problem("GET", f"/submissions/{own.pk}")["status"] == 404
    refused = Program(bob).problem("POST", f"/submissions/{shared.pk}/publish", {"consent": True, "licence": "MIT"})
    assert refused["status"] == 404, "a viewer publishes nothing"


def test_submitting_for_a_team(small: SuiteVersion, alice: User, bob: User, team: Team) -> None:
    for person in (bob, alice):
        program = Program(person)
        upload = program.upload(SimpleUploadedFile("a.zip", bundle()))
        checked_by_worker()
        address = f"/uploads/{upload['id']}/submit"
        if person == bob:
            refused = program.problem("POST", address, {"team": "lynx"})
            assert (refused["status"], refused["detail"]) == (
                403,
                "bob is in no team 'lynx' for which they may submit.",
            )
        else:
            program.post(address, {"team": "lynx"}, status=201)
    assert [(each.owner, each.team) for each in Submission.objects.all()] == [(alice, team)]


def test_endpoints_of_a_team(alice: User, bob: User, team: Team) -> None:
    endpoint = EndpointFactory(owner=alice, team=team)
    assert Program(alice).get("/endpoints")["items"][0]["team"] == {"slug": "lynx", "name": "Lynx"}
    assert Program(bob).get("/endpoints")["items"] == [], "a viewer uses no endpoint"
    Membership.objects.filter(user=bob).update(role=TeamRole.MEMBER)
    assert Program(bob).get(f"/endpoints/{endpoint.pk}")["id"] == endpoint.pk
