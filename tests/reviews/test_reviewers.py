"""Invitations, roles, profiles, and which cases are open to whom."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.utils import timezone

from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import ReviewError
from reviews.models import Assignment, Case, Invitation, Reviewer
from reviews.people import conflicts, reviewers
from reviews.people.pseudonyms import unused_pseudonym
from reviews.people.reviewers import accept, invite, open_cases
from submissions.enums import Kind, Verb, Visibility
from submissions.exceptions import NotAllowedError
from submissions.models import AuditEvent, Implementation, Submission
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from submissions.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def maintainer() -> User:
    made: User = UserFactory(username="carol", is_staff=True)
    return made


@pytest.fixture
def reviewer() -> Reviewer:
    made: Reviewer = ReviewerFactory()
    return made


def secret_of(maintainer: User, **roles: Any) -> str:
    return invite(actor=maintainer, **{"annotator": True, "adjudicator": False, **roles})[1]


class TestInvitations:
    def test_a_link_makes_a_reviewer(self, maintainer: User) -> None:
        invitation, secret = invite(actor=maintainer, annotator=True, adjudicator=True, note="for Dana")
        days = (invitation.expires - timezone.now()).total_seconds() / 86400
        assert (len(secret) >= 43, secret in str(vars(invitation)), 13.9 < days <= 14) == (True, False, True)
        person = UserFactory()
        made = accept(user=person, secret=secret)
        invitation.refresh_from_db()
        assert (made.user, made.is_annotator, made.is_adjudicator, made.active) == (person, True, True, True)
        assert (invitation.used_by, invitation.used is not None) == (made, True)
        assert list(AuditEvent.objects.order_by("pk").values_list("verb", "actor")) == [
            (Verb.INVITED, maintainer.pk),
            (Verb.JOINED, person.pk),
        ]

    def test_the_same_person_may_accept_twice_and_nobody_else(self, maintainer: User) -> None:
        secret, person = secret_of(maintainer), UserFactory()
        assert accept(user=person, secret=secret) == accept(user=person, secret=secret)
        with pytest.raises(ReviewError, match="has been used: each link works once"):
            accept(user=UserFactory(), secret=secret)
        assert Reviewer.objects.count() == 1

    @pytest.mark.parametrize(
        ("facts", "said"),
        [
            ({"revoked": timezone.now()}, "was taken back"),
            ({"expires": timezone.now()}, "has expired: links last 14 days"),
        ],
        ids=["revoked", "expired"],
    )
    def test_what_is_not_valid_any_more_makes_nobody(self, maintainer: User, facts: dict[str, Any], said: str) -> None:
        secret = secret_of(maintainer)
        Invitation.objects.update(**facts)
        with pytest.raises(ReviewError, match=said):
            accept(user=UserFactory(), secret=secret)
        assert not Reviewer.objects.exists()

    def test_a_wrong_secret_is_nobodys(self, maintainer: User) -> None:
        with pytest.raises(ReviewError, match="no such invitation"):
            accept(user=UserFactory(), secret=secret_of(maintainer)[:-1])

    def test_a_second_link_adds_its_role(self, maintainer: User, reviewer: Reviewer) -> None:
        assert reviewer.user is not None
        secret = secret_of(maintainer, annotator=False, adjudicator=True)
        assert accept(user=reviewer.user, secret=secret) == reviewer
        reviewer.refresh_from_db()
        assert (reviewer.is_annotator, reviewer.is_adjudicator) == (True, True)

    def test_a_link_that_gives_nothing_new_stays_for_others(self, maintainer: User, reviewer: Reviewer) -> None:
        assert reviewer.user is not None
        secret = secret_of(maintainer)
        with pytest.raises(ReviewError, match="it stays valid for somebody else"):
            accept(user=reviewer.user, secret=secret)
        assert accept(user=UserFactory(), secret=secret).is_annotator

    def test_who_was_ended_does_not_come_back_by_a_link(self, maintainer: User) -> None:
        ended = ReviewerFactory(active=False)
        with pytest.raises(ReviewError, match="ended by a maintainer"):
            accept(user=ended.user, secret=secret_of(maintainer, adjudicator=True))
        assert Invitation.objects.filter(used=None).exists()

    def test_only_maintainers_invite_and_revoke(self, maintainer: User, reviewer: Reviewer) -> None:
        assert reviewer.user is not None
        with pytest.raises(NotAllowedError):
            invite(actor=reviewer.user, annotator=True, adjudicator=True)
        invitation, _ = invite(actor=maintainer, annotator=True, adjudicator=False)
        with pytest.raises(NotAllowedError):
            reviewers.revoke(actor=reviewer.user, invitation=invitation)
        with pytest.raises(ReviewError, match="at least one role"):
            invite(actor=maintainer, annotator=False, adjudicator=False)

    def test_revoking_works_once_and_not_after_use(self, maintainer: User) -> None:
        invitation, secret = invite(actor=maintainer, annotator=True, adjudicator=False)
        reviewers.revoke(actor=maintainer, invitation=invitation)
        with pytest.raises(ReviewError, match="used or revoked already"):
            reviewers.revoke(actor=maintainer, invitation=invitation)
        used, secret = invite(actor=maintainer, annotator=True, adjudicator=False)
        accept(user=UserFactory(), secret=secret)
        with pytest.raises(ReviewError, match="used or revoked already"):
            reviewers.revoke(actor=maintainer, invitation=used)
        assert AuditEvent.objects.filter(verb=Verb.INVITATION_REVOKED).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_people_with_one_link_one_wins() -> None:
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


class TestPeople:
    def test_who_reviews(self, reviewer: Reviewer) -> None:
        from django.contrib.auth.models import AnonymousUser

        ended = ReviewerFactory(active=False)
        assert reviewer.user is not None
        assert reviewers.reviewer_of(reviewer.user) == reviewer
        assert [reviewers.reviewer_of(user) for user in (ended.user, UserFactory(), AnonymousUser())] == [None] * 3

    def test_pseudonyms_tell_no_order_and_none_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first = unused_pseudonym()
        assert len(first.split()) == 3
        ReviewerFactory(pseudonym="Amber Heron 10")
        draws = iter(["Amber", "Heron", "Amber", "Wren"])
        monkeypatch.setattr("random.SystemRandom.choice", lambda _self, _of: next(draws))
        monkeypatch.setattr("random.SystemRandom.randrange", lambda _self, start, _stop: start)
        assert unused_pseudonym() == "Amber Wren 10"

    def test_changing_roles_hands_back_what_is_held(self, maintainer: User) -> None:
        reviewer = ready(adjudicator=True)
        held = assigned(case_of(state=CaseState.LEASED), reviewer)
        change = {"annotator": False, "adjudicator": True, "active": True}
        assert reviewers.set_roles(actor=maintainer, reviewer=reviewer, reason="asked for it", **change) == 1
        held.refresh_from_db()
        held.case.refresh_from_db()
        assert (held.state, held.case.state) == (AssignmentState.RETURNED, CaseState.QUEUED)
        event = AuditEvent.objects.get(verb=Verb.REVIEWER_CHANGED)
        assert (event.actor, event.reason, event.data["before"]["is_annotator"], event.data["after"]) == (
            maintainer,
            "asked for it",
            True,
            {"is_annotator": False, "is_adjudicator": True, "active": True},
        )

    def test_ending_hands_back_in_every_role_and_reopening_keeps_the_rest(self, maintainer: User) -> None:
        reviewer = ready(adjudicator=True)
        held = assigned(case_of(state=CaseState.ADJUDICATING), reviewer, role=Role.ADJUDICATOR)
        change = {"annotator": True, "adjudicator": True}
        reviewers.set_roles(actor=maintainer, reviewer=reviewer, reason="left", active=False, **change)
        held.refresh_from_db()
        assert (held.state, list(open_cases(reviewer))) == (AssignmentState.RETURNED, [])
        reviewers.set_roles(actor=maintainer, reviewer=reviewer, reason="is back", active=True, **change)
        assert list(open_cases(reviewer)) == [held.case]

    def test_roles_need_a_maintainer_a_reason_and_a_change(self, maintainer: User, reviewer: Reviewer) -> None:
        same = {"annotator": True, "adjudicator": False, "active": True}
        assert reviewer.user is not None
        with pytest.raises(NotAllowedError):
            reviewers.set_roles(actor=reviewer.user, reviewer=reviewer, reason="me", **{**same, "adjudicator": True})
        with pytest.raises(ReviewError, match="Say why"):
            reviewers.set_roles(actor=maintainer, reviewer=reviewer, reason="  ", **{**same, "adjudicator": True})
        with pytest.raises(ReviewError, match="exactly these roles"):
            reviewers.set_roles(actor=maintainer, reviewer=reviewer, reason="why not", **same)
        reviewer.refresh_from_db()
        assert not reviewer.is_adjudicator


class TestProfile:
    FACTS: dict[str, Any] = {"name": " Dana  Doe ", "shows_name": True, "affiliation": "Alpha  Lab", "expertise": "NLP"}
    FACTS["confirmed"] = True

    def test_it_is_stored_and_told(self, reviewer: Reviewer) -> None:
        assert reviewers.update_profile(reviewer=reviewer, **self.FACTS) == 0
        reviewer.refresh_from_db()
        assert (reviewer.public_name, reviewer.affiliation, reviewer.expertise) == ("Dana Doe", "Alpha Lab", "NLP")
        assert AuditEvent.objects.get().data == {"changed": ["affiliation", "expertise", "name", "shows_name"]}

    @pytest.mark.parametrize(
        ("changes", "said"), [({"affiliation": " "}, "or “none”"), ({"name": ""}, "stay with the pseudonym")]
    )
    def test_what_is_missing_is_refused(self, reviewer: Reviewer, changes: dict[str, str], said: str) -> None:
        with pytest.raises(ReviewError, match=said):
            reviewers.update_profile(reviewer=reviewer, **{**self.FACTS, **changes})

    def test_a_new_affiliation_hands_back_what_is_now_in_conflict(self) -> None:
        reviewer = ready()
        answer = answers(system=SystemFactory(organisation="ALPHA lab"))[0]
        held = assigned(case_of(answer, state=CaseState.LEASED), reviewer)
        assert reviewers.update_profile(reviewer=reviewer, **self.FACTS) == 1
        held.refresh_from_db()
        assert held.state == AssignmentState.RETURNED


class TestConflicts:
    def test_declaring_one_hands_back_only_what_it_concerns(self) -> None:
        reviewer = ready()
        concerned = assigned(case_of(state=CaseState.LEASED), reviewer)
        other = assigned(case_of(state=CaseState.LEASED), reviewer)
        system = concerned.case.implementation.submission.system
        assert conflicts.add_conflict(reviewer=reviewer, system=system) == 1
        states = Assignment.objects.order_by("pk").values_list("pk", "state")
        assert list(states) == [(concerned.pk, AssignmentState.RETURNED), (other.pk, AssignmentState.ACTIVE)]

    def test_a_label_that_is_locked_stays(self) -> None:
        reviewer = ready()
        review = reviewed(case_of(state=CaseState.ONE_LABEL), reviewer, "CC")
        system = review.case.implementation.submission.system
        assert conflicts.add_conflict(reviewer=reviewer, system=system) == 0
        assert review.case.reviews.count() == 1

    def test_twice_and_both_and_neither_are_refused(self, reviewer: Reviewer) -> None:
        system = SystemFactory()
        conflicts.add_conflict(reviewer=reviewer, system=system)
        conflicts.add_conflict(reviewer=reviewer, organisation="Alpha Lab")
        for again in ({"system": system}, {"organisation": " alpha  LAB"}):
            with pytest.raises(ReviewError, match="declared already"):
                conflicts.add_conflict(reviewer=reviewer, **again)
        neither: dict[str, Any] = {}
        for wrong in ({"system": SystemFactory(), "organisation": "Beta"}, neither):
            with pytest.raises(ReviewError, match="one of both"):
                conflicts.add_conflict(reviewer=reviewer, **wrong)
        assert reviewer.conflicts.count() == 2

    def test_removing_one_is_told(self, reviewer: Reviewer) -> None:
        conflicts.add_conflict(reviewer=reviewer, organisation="Alpha Lab")
        conflicts.remove_conflict(reviewer=reviewer, conflict=reviewer.conflicts.get())
        assert not reviewer.conflicts.exists()
        changes = [event.data["conflict"] for event in AuditEvent.objects.order_by("pk")]
        assert changes == [{"before": "", "after": "Alpha Lab"}, {"before": "Alpha Lab", "after": ""}]

    def test_systems_that_are_not_public_cannot_be_chosen(self, reviewer: Reviewer) -> None:
        public = answers()[0].submission.system
        answers(published=False)
        reported, mine = SystemFactory(owner=None), SystemFactory(owner=reviewer.user)
        assert set(conflicts.systems_to_choose(reviewer)) == {public, reported, mine}


class TestOpenCases:
    def test_what_waits_is_open_and_what_is_settled_is_not(self, reviewer: Reviewer) -> None:
        waiting = {case_of(state=state) for state in ("queued", "leased", "one_label", "disputed", "adjudicating")}
        for state in ("agreed", "final", "void", "reopened"):
            case_of(state=state)
        assert set(open_cases(reviewer)) == waiting

    @pytest.mark.parametrize(
        ("facts", "is_open"),
        [
            ({}, True),
            ({"code_licence": ""}, False),
            ({"visibility": Visibility.PRIVATE}, False),
            ({"visibility": Visibility.WITHDRAWN}, False),
            ({"visibility": Visibility.HIDDEN}, False),
            ({"kind": Kind.CALIBRATION}, True),
            ({"kind": Kind.CALIBRATION, "visibility": Visibility.PRIVATE}, True),
            ({"kind": Kind.CALIBRATION, "visibility": Visibility.PRIVATE, "code_licence": ""}, False),
            ({"kind": Kind.CALIBRATION, "visibility": Visibility.HIDDEN}, False),
        ],
    )
    def test_only_code_that_may_be_shown(self, reviewer: Reviewer, facts: dict[str, Any], is_open: bool) -> None:
        case = case_of()
        Submission.objects.filter(pk=case.implementation.submission_id).update(**facts)
        assert open_cases(reviewer).filter(pk=case.pk).exists() is is_open

    def test_own_submissions_and_systems_are_closed(self, reviewer: Reviewer) -> None:
        case_of(answers(owner=reviewer.user)[0])
        case_of(answers(system=SystemFactory(owner=reviewer.user))[0])
        nobodys = case_of(answers(system=SystemFactory(owner=None))[0])
        assert list(open_cases(reviewer)) == [nobodys]

    def test_a_system_in_conflict_is_closed(self, reviewer: Reviewer) -> None:
        case = case_of()
        other = case_of()
        conflicts.add_conflict(reviewer=reviewer, system=case.implementation.submission.system)
        assert list(open_cases(reviewer)) == [other]

    @pytest.mark.parametrize("organisation", ["Große Universität", "GROSSE UNIVERSITÄT", " große  universität"])
    def test_an_organisation_in_conflict_is_closed_however_it_is_spelt(
        self, reviewer: Reviewer, organisation: str
    ) -> None:
        case_of(answers(system=SystemFactory(organisation="Große  Universität"))[0])
        other = case_of(answers(system=SystemFactory(organisation="Große Universität B"))[0])
        conflicts.add_conflict(reviewer=reviewer, organisation=organisation)
        assert list(open_cases(reviewer)) == [other]

    def test_the_own_affiliation_is_closed_for_systems_and_their_submitters(self) -> None:
        reviewer = ReviewerFactory(affiliation="alpha lab")
        colleague = ReviewerFactory(affiliation="Alpha Lab").user
        case_of(answers(system=SystemFactory(organisation="ALPHA LAB"))[0])
        case_of(answers(owner=colleague, system=SystemFactory(organisation="Elsewhere"))[0])
        other = case_of(answers(owner=ReviewerFactory(affiliation="Beta").user)[0])
        assert list(open_cases(reviewer)) == [other]

    def test_none_is_no_affiliation(self, reviewer: Reviewer) -> None:
        case = case_of(answers(owner=ReviewerFactory(affiliation="None").user)[0])
        other = case_of(answers(system=SystemFactory(organisation="none"))[0])
        assert set(open_cases(reviewer)) == {case, other}

    def test_an_answer_once_labelled_is_closed_in_every_round(self, reviewer: Reviewer) -> None:
        review = reviewed(case_of(state=CaseState.REOPENED), reviewer, "CC")
        case_of(review.case.implementation, round=2, state=CaseState.QUEUED)
        assert not open_cases(reviewer).exists()
        assert open_cases(ReviewerFactory()).count() == 1

    def test_an_adjudicator_may_come_back_to_the_case_of_the_blind_label(self) -> None:
        adjudicator = ReviewerFactory(adjudicator=True)
        review = reviewed(case_of(state=CaseState.DISPUTED), adjudicator, "LI", role=Role.ADJUDICATOR)
        assert list(open_cases(adjudicator)) == [review.case]
        Case.objects.filter(pk=review.case.pk).update(state=CaseState.REOPENED)
        case_of(review.case.implementation, round=2)
        assert not open_cases(adjudicator).exists()

    def test_a_repeat_is_for_one_person_and_practice_for_none(self, reviewer: Reviewer) -> None:
        review = reviewed(case_of(state=CaseState.AGREED), reviewer, "CC")
        repeat = case_of(review.case.implementation, kind=CaseKind.REPEAT, reserved_for=reviewer)
        case_of(answers()[0], kind=CaseKind.PRACTICE, known_label="CC")
        reserved = case_of(reserved_for=ReviewerFactory())
        assert list(open_cases(reviewer)) == [repeat]
        assert reserved.reserved_for is not None
        assert list(open_cases(reserved.reserved_for)) == [reserved]

    def test_a_repeat_in_conflict_is_closed_too(self, reviewer: Reviewer) -> None:
        review = reviewed(case_of(state=CaseState.AGREED), reviewer, "CC")
        case_of(review.case.implementation, kind=CaseKind.REPEAT, reserved_for=reviewer)
        Implementation.objects.get().submission.system.__class__.objects.update(organisation="Gamma")
        conflicts.add_conflict(reviewer=reviewer, organisation="gamma")
        assert not open_cases(reviewer).exists()


def test_links_last_as_long_as_they_say(maintainer: User) -> None:
    invitation, secret = invite(actor=maintainer, annotator=True, adjudicator=False)
    Invitation.objects.update(expires=timezone.now() + timedelta(minutes=1))
    assert accept(user=UserFactory(), secret=secret).invitations.get() == invitation
