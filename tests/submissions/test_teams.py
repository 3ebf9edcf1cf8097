"""Teams: their members, what belongs to them, and who may do what with it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from evaluator.generation import generating
from evaluator.models import Generation
from leaderboard.models import Notice
from leaderboard.models.enums import NoticeKind
from leaderboard.notices.making import note_scored
from reviews.annotators.conflicts import in_conflict
from reviews.models import Assignment, Case
from submissions.domain import (
    endpoints,
    erasure,
    organisations,
    ownership,
    publishing,
    quotas,
    submitting,
    teams,
    uploads,
)
from submissions.domain.access import may_manage, may_see_unpublished, visible_to
from submissions.domain.audit import history
from submissions.enums import Source, SubmissionState, TeamRole, Verb, Visibility
from submissions.exceptions import NotAllowedError, OrganisationRefusedError, QuotaExceededError, WrongStateError
from submissions.models import Endpoint, Membership, Submission, System, Team, TeamInvitation, User
from tests.leaderboard.judging import JudgeFactory
from tests.reviews.factories import answers, case_of, claimed, ready
from tests.submissions.endpoints.factories import DESCRIBED, KEY, EndpointFactory
from tests.submissions.factories import RIGHT, SubmissionFactory, SystemFactory, UserFactory, bundle, checked_by_worker
from tests.submissions.organisations import has_address, registered

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmark_tasks.models import SuiteVersion

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(alice: User) -> Team:
    """A team that Alice owns."""
    return teams.create(actor=alice, name="Lynx")


def joined(team: Team, user: User, role: TeamRole = TeamRole.MEMBER) -> Membership:
    """Let ``user`` join by an invitation."""
    owner = team.memberships.filter(role=TeamRole.OWNER).earliest("pk").user
    _, secret = teams.invite(team=team, actor=owner, role=role)
    return teams.accept(user=user, secret=secret)


def roles(team: Team) -> dict[str, str]:
    return dict(team.memberships.values_list("user__username", "role"))


def verbs(team: Team) -> list[str]:
    return [event.verb for event in history(team)][::-1]


def sent(owner: User, team: Team | None, **bundled: Any) -> submitting.Submitted:
    """Upload a bundle as ``owner`` and submit it for ``team``."""
    file = SimpleUploadedFile("answers.zip", bundle(**bundled))
    upload = uploads.receive(owner=owner, file=file, described=None, fields={})
    checked_by_worker()
    upload.refresh_from_db()
    return submitting.submit_upload(upload=upload, team=team)


class TestMembers:
    """Invitations, roles, and leaving."""

    def test_a_team_begins_with_its_owner(self, team: Team, alice: User) -> None:
        assert (team.slug, roles(team), verbs(team)) == ("lynx", {"alice": "owner"}, [Verb.TEAM_MADE])

    @pytest.mark.both_databases
    @pytest.mark.django_db(transaction=True)
    def test_a_name_is_used_once_in_any_case(self, team: Team, bob: User) -> None:
        with pytest.raises(NotAllowedError, match=r"^There is another team called LYNX; choose another name.$"):
            teams.create(actor=bob, name="LYNX")
        assert teams.create(actor=bob, name="Lynx.").slug == "lynx-2"

    def test_a_registered_organisations_name_needs_its_right(self, team: Team, alice: User, maintainer: User) -> None:
        registered("Example Lab", "example.org", by=maintainer)
        refused = "^'Example Lab' is a registered organisation, and this account may not use its name."
        with pytest.raises(NotAllowedError, match=refused):
            teams.create(actor=alice, name="EXAMPLE-LAB")
        with pytest.raises(NotAllowedError, match=refused):
            teams.rename(team=team, actor=alice, name="Example Lab")
        has_address(alice, "alice@example.org")
        teams.rename(team=team, actor=alice, name="Example Lab")
        assert Team.objects.get().name == "Example Lab"

    def test_an_invitation_works_once(self, team: Team, alice: User, bob: User) -> None:
        made, secret = teams.invite(team=team, actor=alice, role=TeamRole.VIEWER, note="Bob")
        assert (made.role, str(made), secret in made.secret_digest) == ("viewer", "Bob", False)
        assert teams.accept(user=bob, secret=secret) == teams.accept(user=bob, secret=secret)
        with pytest.raises(WrongStateError, match="has been used"):
            teams.accept(user=UserFactory(), secret=secret)
        assert roles(team) == {"alice": "owner", "bob": "viewer"}
        assert verbs(team) == [Verb.TEAM_MADE, Verb.TEAM_INVITED, Verb.TEAM_JOINED]

    def test_invalid_invitations(self, team: Team, alice: User, bob: User) -> None:
        revoked, gone = teams.invite(team=team, actor=alice, role=TeamRole.MEMBER)
        teams.revoke(invitation=revoked, actor=alice)
        _, old = teams.invite(team=team, actor=alice, role=TeamRole.MEMBER)
        with pytest.raises(WrongStateError, match="was revoked"):
            teams.accept(user=bob, secret=gone)
        with pytest.raises(WrongStateError, match="no such invitation"):
            teams.accept(user=bob, secret="guessed")
        with (
            time_machine.travel(timezone.now() + timedelta(days=14, seconds=1)),
            pytest.raises(WrongStateError, match="expired"),
        ):
            teams.accept(user=bob, secret=old)
        with pytest.raises(WrongStateError, match="already used or revoked"):
            teams.revoke(invitation=revoked, actor=alice)
        assert roles(team) == {"alice": "owner"}

    def test_a_member_does_not_use_up_an_invitation(self, team: Team, alice: User) -> None:
        made, secret = teams.invite(team=team, actor=alice, role=TeamRole.VIEWER)
        with pytest.raises(WrongStateError, match=r"^You are in Lynx already, as owner"):
            teams.accept(user=alice, secret=secret)
        made.refresh_from_db()
        assert (made.used, roles(team)) == (None, {"alice": "owner"})

    @pytest.mark.parametrize("role", [TeamRole.MEMBER, TeamRole.VIEWER, None])
    def test_only_owners_and_maintainers_lead(
        self, team: Team, alice: User, bob: User, maintainer: User, role: TeamRole | None
    ) -> None:
        if role:
            joined(team, bob, role)
        with pytest.raises(NotAllowedError, match=r"^The owners of Lynx invite its members; maintainers do if"):
            teams.invite(team=team, actor=maintainer, role=TeamRole.OWNER)
        invitation, _ = teams.invite(team=team, actor=alice, role=TeamRole.MEMBER)
        owner = team.memberships.get(role=TeamRole.OWNER)
        for act in (
            lambda: teams.invite(team=team, actor=bob, role=TeamRole.OWNER),
            lambda: teams.revoke(invitation=invitation, actor=bob),
            lambda: teams.rename(team=team, actor=bob, name="Bob's"),
            lambda: teams.set_role(membership=owner, actor=bob, role=TeamRole.VIEWER),
            lambda: teams.remove(membership=owner, actor=bob),
        ):
            with pytest.raises(NotAllowedError, match=r"^Only owners of Lynx and maintainers may do this.$"):
                act()
        assert TeamInvitation.objects.get(pk=invitation.pk).revoked is None
        assert (Team.objects.get().name, roles(team)["alice"]) == ("Lynx", "owner")

    def test_a_team_keeps_an_owner(self, team: Team, alice: User, bob: User) -> None:
        own, other = team.memberships.get(), joined(team, bob)
        acts: tuple[Callable[[], None], ...] = (
            lambda: teams.set_role(membership=own, actor=alice, role=TeamRole.MEMBER),
            lambda: teams.remove(membership=own, actor=alice),
            lambda: erasure.erase(user=alice, actor=None),
        )
        for act in acts:
            with pytest.raises(WrongStateError, match="alice is the only owner of Lynx: make another member an owner"):
                act()
        teams.set_role(membership=other, actor=alice, role=TeamRole.OWNER)
        teams.remove(membership=own, actor=alice)
        assert roles(team) == {"bob": "owner"}
        assert verbs(team)[-2:] == [Verb.TEAM_CHANGED, Verb.TEAM_LEFT]
        assert history(team)[1].data == {"changed": {"role of bob": ["member", "owner"]}}

    def test_the_last_member_may_leave_and_a_maintainer_invites_another(
        self, team: Team, alice: User, bob: User, maintainer: User
    ) -> None:
        submission = SubmissionFactory(owner=alice, team=team)
        teams.remove(membership=team.memberships.get(), actor=alice)
        assert [may_manage(user, submission) for user in (alice, maintainer)] == [False, True]
        _, secret = teams.invite(team=team, actor=maintainer, role=TeamRole.OWNER)
        teams.accept(user=bob, secret=secret)
        assert (roles(team), may_manage(bob, submission)) == ({"bob": "owner"}, True)

    def test_somebody_removed_meanwhile_stays_removed(self, team: Team, alice: User, bob: User) -> None:
        stale = joined(team, bob)
        Membership.objects.filter(pk=stale.pk).delete()
        with pytest.raises(WrongStateError, match=r"^bob is no longer in Lynx.$"):
            teams.set_role(membership=stale, actor=alice, role=TeamRole.OWNER)
        assert roles(team) == {"alice": "owner"}

    @pytest.mark.parametrize("end", ["role", "removal"])
    def test_invitations_end_with_the_right_to_invite(self, team: Team, alice: User, bob: User, end: str) -> None:
        owner = joined(team, bob, TeamRole.OWNER)
        _, secret = teams.invite(team=team, actor=bob, role=TeamRole.OWNER)
        _, other = teams.invite(team=team, actor=alice, role=TeamRole.MEMBER)
        if end == "role":
            teams.set_role(membership=owner, actor=alice, role=TeamRole.VIEWER)
        else:
            teams.remove(membership=owner, actor=alice)
        with pytest.raises(WrongStateError, match="was revoked"):
            teams.accept(user=UserFactory(), secret=secret)
        teams.accept(user=UserFactory(), secret=other)

    def test_the_last_member_leaves_no_running_work_and_no_key(self, team: Team, alice: User) -> None:
        endpoint = endpoints.add(owner=alice, described=DESCRIBED, key=KEY, team=team)
        running = SubmissionFactory(owner=alice, team=team, state=SubmissionState.GENERATING)
        scored = SubmissionFactory(owner=alice, team=team)
        erasure.erase(user=alice, actor=None)
        states = dict(Submission.objects.values_list("pk", "state"))
        assert states == {running.pk: SubmissionState.CANCELLED, scored.pk: SubmissionState.SCORED}
        assert Endpoint.objects.get(pk=endpoint.pk).has_key is False
        assert history(endpoint)[0].reason == "the last member of Lynx left"

    def test_limits_of_teams_and_members(self, team: Team, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(teams, "MOST_MEMBERS", 1)
        _, secret = teams.invite(team=team, actor=alice, role=TeamRole.MEMBER)
        with pytest.raises(QuotaExceededError, match="Lynx has 1 members"):
            teams.accept(user=UserFactory(), secret=secret)
        monkeypatch.setattr(teams, "MOST_TEAMS", 1)
        with pytest.raises(QuotaExceededError, match=r"^You are in 1 teams"):
            teams.create(actor=alice, name="Another")


class TestRights:
    """What each role may see and do."""

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("role", "sees", "does"),
        [("owner", True, True), ("member", True, True), ("viewer", True, False), (None, False, False)],
    )
    def test_submissions(self, team: Team, alice: User, bob: User, role: str | None, sees: bool, does: bool) -> None:
        if role:
            joined(team, bob, TeamRole(role))
        shared, private = SubmissionFactory(owner=alice, team=team), SubmissionFactory(owner=alice)
        assert list(visible_to(bob)) == ([shared] if sees else [])
        assert (may_see_unpublished(bob, shared), may_manage(bob, shared)) == (sees, does)
        assert (may_see_unpublished(bob, private), may_manage(bob, private)) == (False, False)
        if does:
            publishing.publish(submission=shared, actor=bob, code_licence="MIT", consent=True)
        else:
            with pytest.raises(NotAllowedError):
                publishing.publish(submission=shared, actor=bob, code_licence="MIT", consent=True)

    @pytest.mark.both_databases
    def test_who_leaves_takes_nothing_along(self, team: Team, alice: User, bob: User) -> None:
        member = joined(team, bob)
        shared, own = SubmissionFactory(owner=bob, team=team), SubmissionFactory(owner=bob)
        endpoint = EndpointFactory(owner=bob, team=team)
        assert set(visible_to(bob)) == {shared, own}
        teams.remove(membership=member, actor=alice)
        assert list(visible_to(bob)) == [own]
        assert (may_manage(bob, shared), may_manage(alice, shared)) == (False, True)
        assert list(endpoints.visible_to(bob)) == []
        assert list(endpoints.visible_to(alice)) == [endpoint]
        assert list(Submission.objects.filter(ownership.owned_by(bob))) == [own]

    @pytest.mark.parametrize(("role", "used"), [("member", True), ("viewer", False), (None, False)])
    def test_endpoints(self, team: Team, alice: User, bob: User, role: str | None, used: bool) -> None:
        if role:
            joined(team, bob, TeamRole(role))
        endpoint = endpoints.add(owner=alice, described=DESCRIBED, key=KEY, team=team)
        EndpointFactory(owner=alice)
        assert list(endpoints.visible_to(bob)) == ([endpoint] if used else [])
        if used:
            endpoints.forget_key(endpoint=endpoint, actor=bob)
            assert Endpoint.objects.get(pk=endpoint.pk).has_key is False
        else:
            with pytest.raises(NotAllowedError):
                endpoints.forget_key(endpoint=endpoint, actor=bob)
            with pytest.raises(NotAllowedError, match=r"^Only owners and members of Lynx may submit and"):
                endpoints.add(owner=bob, described={**DESCRIBED, "name": "B"}, team=team)

    def test_an_endpoints_name_is_used_once_in_a_team(self, team: Team, alice: User, bob: User) -> None:
        joined(team, bob)
        endpoints.add(owner=alice, described=DESCRIBED, team=team)
        endpoints.add(owner=alice, described=DESCRIBED)
        with pytest.raises(NotAllowedError, match=r"^Lynx has another endpoint called Alpha"):
            endpoints.add(owner=bob, described=DESCRIBED, team=team)

    def test_an_annotator_does_not_label_answers_of_a_team(self, team: Team, alice: User, bob: User) -> None:
        reviewer = ready(user=bob)
        of_team = case_of(answers(owner=alice, team=team)[0])
        held = claimed(reviewer)
        case_of(answers(owner=alice)[0])
        assert not Case.objects.filter(in_conflict(reviewer)).exists()
        joined(team, bob, TeamRole.VIEWER)
        assert list(Case.objects.filter(in_conflict(reviewer))) == [of_team]
        assert Assignment.objects.get(pk=held.pk).state == "returned", "the held item is handed back"
        teams.remove(membership=team.memberships.get(user=bob), actor=bob)
        assert list(Case.objects.filter(in_conflict(reviewer))) == [of_team], "who has left has seen its answers"

    def test_notices_go_to_the_sender_and_then_to_an_owner(self, team: Team, alice: User, bob: User) -> None:
        member = joined(team, bob)
        first, second = (SubmissionFactory(owner=bob, team=team) for _ in range(2))
        note_scored(first)
        teams.remove(membership=member, actor=bob)
        note_scored(second)
        made = set(Notice.objects.filter(kind=NoticeKind.SCORED).values_list("recipient__username", "submission"))
        assert made == {("bob", first.pk), ("alice", second.pk)}
        assert not Notice.objects.shown_to(bob).exists(), "Bob no longer reads what concerns the team"
        assert Notice.objects.shown_to(alice).count() == 1


class TestSubmitting:
    """Submissions for a team, and the limits that they count against."""

    def test_what_a_member_sends_belongs_to_the_team(
        self, small: SuiteVersion, team: Team, alice: User, bob: User
    ) -> None:
        joined(team, bob)
        made = sent(bob, team).submission
        assert (made.owner, made.team, made.system.owner, made.system.team) == (bob, team, bob, team)
        again = sent(alice, team)
        assert (again.created, again.submission) == (False, made), "the team has sent these answers already"
        own = sent(alice, None)
        assert (own.created, own.submission.team) == (True, None)
        assert own.submission.system != made.system
        assert own.submission.system.name == made.system.name

    def test_members_share_the_confirmation_of_the_teams_system(
        self, small: SuiteVersion, team: Team, alice: User, bob: User, maintainer: User
    ) -> None:
        joined(team, bob)
        lab = registered("Example Lab", "example.org", by=maintainer)
        has_address(alice, "alice@example.org")
        confirmed = sent(alice, team, organisation="Example Lab").submission.system
        made = sent(bob, team, answers={"alpha/2": RIGHT}).submission
        assert (made.system, made.system.organisation_confirmed) == (confirmed, "domain")
        organisations.end(organisation=lab, account=alice, actor=maintainer, reason="She works elsewhere.")
        with pytest.raises(OrganisationRefusedError, match="The system Alpha Solver has it already"):
            sent(bob, team, answers={"alpha/1": RIGHT, "alpha/2": RIGHT})
        own = sent(bob, None).submission
        assert (own.system.organisation, own.system.organisation_confirmed) == ("", None)

    @pytest.mark.parametrize("role", [TeamRole.VIEWER, None])
    def test_others_may_not_submit_for_it(
        self, small: SuiteVersion, team: Team, bob: User, role: TeamRole | None
    ) -> None:
        if role:
            joined(team, bob, role)
        with pytest.raises(NotAllowedError, match=r"^Only owners and members of Lynx may submit and"):
            sent(bob, team)
        with pytest.raises(NotAllowedError, match=r"^bob is in no team 'lynx' for which they may submit.$"):
            ownership.team_of(bob, "lynx")
        assert Submission.objects.count() == 0

    @pytest.mark.usefixtures("half_past_noon")
    def test_a_team_does_not_multiply_a_persons_limit(self, team: Team, alice: User, bob: User) -> None:
        joined(team, bob)
        SubmissionFactory.create_batch(3, owner=alice, team=team)
        SubmissionFactory.create_batch(2, owner=alice)
        assert (quotas.used_today(alice), quotas.used_today(team), quotas.used_today(bob)) == (5, 3, 0)
        assert [quotas.remaining(alice), quotas.remaining(alice, team), quotas.remaining(bob, team)] == [5, 5, 7]
        SubmissionFactory.create_batch(7, owner=bob, team=team)
        with pytest.raises(QuotaExceededError, match=r"^Lynx has sent 10 submissions today \(UTC\); its limit is 10"):
            quotas.require(alice, team)
        quotas.require(alice)

    @pytest.mark.usefixtures("half_past_noon")
    def test_a_limit_of_its_own_counts_alone(self, team: Team, alice: User, maintainer: User) -> None:
        SubmissionFactory.create_batch(4, owner=alice, team=team)
        quotas.set_limit(holder=team, daily=50, actor=maintainer, reason="a large study")
        assert (quotas.used_today(alice), quotas.remaining(alice), quotas.remaining(alice, team)) == (0, 10, 46)
        assert history(team).first().data == {"before": None, "after": 50}

    def test_consent_holds_after_its_giver_left(self, team: Team, alice: User, bob: User) -> None:
        member = joined(team, bob)
        submission = SubmissionFactory(owner=bob, team=team, publish_when_scored=True, code_licence="MIT")
        teams.remove(membership=member, actor=alice)
        assert publishing.publish_if_consented(submission=submission) is True
        submission.refresh_from_db()
        assert submission.visibility == Visibility.PUBLISHED


class TestHandingOver:
    """Give a system with its submissions, or an endpoint, to a team."""

    @pytest.mark.both_databases
    def test_a_system_goes_with_its_submissions(self, team: Team, alice: User, bob: User) -> None:
        joined(team, bob)
        system = SystemFactory(owner=alice)
        one, other = SubmissionFactory(owner=alice, system=system), SubmissionFactory(owner=alice)
        teams.hand_over(row=system, team=team, actor=alice)
        assert set(visible_to(bob)) == {one}
        assert Submission.objects.get(pk=other.pk).team is None
        assert [event.verb for event in history(one)] == [Verb.HANDED_OVER]
        with pytest.raises(NotAllowedError, match=r"^Only what is your own"):
            teams.hand_over(row=system, team=team, actor=alice)

    def test_others_may_not(self, team: Team, alice: User, bob: User) -> None:
        system = SystemFactory(owner=bob)
        with pytest.raises(NotAllowedError, match=r"^Only what is your own"):
            teams.hand_over(row=system, team=team, actor=alice)
        with pytest.raises(NotAllowedError, match=r"^Only owners and members of Lynx may submit and"):
            teams.hand_over(row=system, team=team, actor=bob)
        assert System.objects.get().team is None

    @pytest.mark.both_databases
    @pytest.mark.django_db(transaction=True)
    def test_what_the_team_has_already_is_refused_as_a_whole(self, team: Team, alice: User) -> None:
        system = SystemFactory(owner=alice, name="Twin")
        submission = SubmissionFactory(owner=alice, system=system)
        SystemFactory(owner=alice, team=team, name="twin", slug="twin-2")
        with pytest.raises(NotAllowedError, match=r"^Lynx already has the same system, or the same answers"):
            teams.hand_over(row=system, team=team, actor=alice)
        assert (System.objects.get(pk=system.pk).team, Submission.objects.get(pk=submission.pk).team) == (None, None)

    def test_nothing_is_handed_over_while_a_run_is_open(self, team: Team, alice: User) -> None:
        endpoint = EndpointFactory(owner=alice)
        facts = {"source": Source.ENDPOINT, "state": SubmissionState.GENERATING}
        submission = SubmissionFactory(owner=alice, **facts)
        Generation.objects.create(submission=submission, endpoint=endpoint, prompt_version="1", state="paused")
        for row in (submission.system, endpoint):
            with pytest.raises(WrongStateError, match=rf"^A run is still open: submission {submission.pk}. Cancel"):
                teams.hand_over(row=row, team=team, actor=alice)
            row.refresh_from_db()
            assert row.team is None

    def test_only_who_pays_raises_a_runs_limits(self, team: Team, alice: User, bob: User) -> None:
        joined(team, bob)
        endpoint = EndpointFactory(owner=alice)
        submission = SubmissionFactory(owner=alice, team=team, state=SubmissionState.GENERATING)
        run = Generation.objects.create(submission=submission, endpoint=endpoint, prompt_version="1", state="paused")
        with pytest.raises(NotAllowedError, match=r"^Only the owner of a run may raise its limits"):
            generating.resume(generation=run, actor=bob, run_seconds=3600)
        generating.resume(generation=run, actor=alice, run_seconds=3600)

    @pytest.mark.usefixtures("half_past_noon")
    def test_handing_over_does_not_empty_a_persons_day(self, team: Team, alice: User, maintainer: User) -> None:
        quotas.set_limit(holder=team, daily=1, actor=maintainer, reason="a trial")
        system = SystemFactory(owner=alice)
        SubmissionFactory.create_batch(2, owner=alice, system=system)
        with pytest.raises(QuotaExceededError, match=r"^Lynx may have 1 submissions a day"):
            teams.hand_over(row=system, team=team, actor=alice)
        assert (quotas.used_today(alice), quotas.used_today(team)) == (2, 0)

    def test_a_registered_name_is_handed_over_with_the_right_to_it(
        self, team: Team, alice: User, maintainer: User
    ) -> None:
        system = SystemFactory(owner=alice, organisation="Example Lab")
        registered("Example Lab", "example.org", by=maintainer)
        with pytest.raises(OrganisationRefusedError):
            teams.hand_over(row=system, team=team, actor=alice)
        has_address(alice, "alice@example.org")
        teams.hand_over(row=system, team=team, actor=alice)
        assert System.objects.get().team == team

    def test_a_judges_endpoint_stays(self, team: Team, maintainer: User) -> None:
        Membership.objects.create(team=team, user=maintainer, role=TeamRole.MEMBER)
        endpoint, other = EndpointFactory(owner=maintainer), EndpointFactory(owner=maintainer)
        JudgeFactory(endpoint=endpoint, name="Strict judge")
        with pytest.raises(NotAllowedError, match=r"^These judges use this endpoint: Strict judge"):
            teams.hand_over(row=endpoint, team=team, actor=maintainer)
        teams.hand_over(row=other, team=team, actor=maintainer)
        assert [Endpoint.objects.get(pk=each.pk).team for each in (endpoint, other)] == [None, team]


def test_an_erased_account_leaves_the_teams_rows_alone(team: Team, alice: User, bob: User) -> None:
    joined(team, bob)
    facts = {"owner": bob, "state": SubmissionState.QUEUED}
    shared, own = SubmissionFactory(team=team, **facts), SubmissionFactory(**facts)
    kept, gone = EndpointFactory(owner=bob, team=team), EndpointFactory(owner=bob)
    erasure.erase(user=bob, actor=None)
    states = dict(Submission.objects.values_list("pk", "state"))
    assert states == {shared.pk: SubmissionState.QUEUED, own.pk: SubmissionState.CANCELLED}
    assert set(Endpoint.objects.values_list("pk", flat=True)) == {kept.pk}
    assert gone.pk != kept.pk
    assert roles(team) == {"alice": "owner"}
    assert may_manage(alice, shared)
