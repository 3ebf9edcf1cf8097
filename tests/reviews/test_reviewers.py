"""Invitations, roles, profiles, and which cases are open to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import AnonymousUser

from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import ReviewError
from reviews.models import Assignment, Case, Reviewer
from reviews.people import conflicts, reviewers
from reviews.people.reviewers import open_cases
from submissions.enums import Kind, Verb, Visibility
from submissions.exceptions import NotAllowedError
from submissions.models import AuditEvent, Submission
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from submissions.models import User

pytestmark = pytest.mark.django_db


class TestPeople:
    def test_who_reviews(self, reviewer: Reviewer) -> None:
        ended = ReviewerFactory(active=False)
        assert reviewer.user is not None
        assert reviewers.reviewer_of(reviewer.user) == reviewer
        assert [reviewers.reviewer_of(user) for user in (ended.user, UserFactory(), AnonymousUser())] == [None] * 3

    def test_changing_roles_hands_back_what_is_held(self, maintainer: User) -> None:
        reviewer = ready(adjudicator=True)
        held = assigned(case_of(state=CaseState.LEASED), reviewer)
        change = {"annotator": False, "adjudicator": True, "active": True}
        assert reviewers.set_roles(actor=maintainer, reviewer=reviewer, reason="asked for it", **change) == 1
        held.refresh_from_db()
        held.case.refresh_from_db()
        assert (held.state, held.case.state) == (AssignmentState.RETURNED, CaseState.QUEUED)
        event = AuditEvent.objects.get(verb=Verb.REVIEWER_CHANGED)
        assert (event.actor, event.reason, event.data["before"]["is_annotator"]) == (maintainer, "asked for it", True)
        assert event.data["after"] == {"is_annotator": False, "is_adjudicator": True, "active": True}

    def test_ending_hands_back_in_every_role_and_reopening_keeps_the_rest(self, maintainer: User) -> None:
        reviewer = ready(adjudicator=True)
        held = assigned(case_of(state=CaseState.ADJUDICATING), reviewer, role=Role.ADJUDICATOR)
        change: dict[str, Any] = {"actor": maintainer, "reviewer": reviewer, "annotator": True, "adjudicator": True}
        reviewers.set_roles(reason="left", active=False, **change)
        held.refresh_from_db()
        assert (held.state, list(open_cases(reviewer))) == (AssignmentState.RETURNED, [])
        reviewers.set_roles(reason="is back", active=True, **change)
        assert list(open_cases(reviewer)) == [held.case]

    def test_roles_need_a_maintainer_a_reason_and_a_change(self, maintainer: User, reviewer: Reviewer) -> None:
        given: dict[str, Any] = {"reviewer": reviewer, "annotator": True, "active": True}
        with pytest.raises(NotAllowedError):
            reviewers.set_roles(actor=UserFactory(), reason="me", adjudicator=True, **given)
        with pytest.raises(ReviewError, match="Say why"):
            reviewers.set_roles(actor=maintainer, reason="  ", adjudicator=True, **given)
        with pytest.raises(ReviewError, match="exactly these roles"):
            reviewers.set_roles(actor=maintainer, reason="why not", adjudicator=False, **given)
        reviewer.refresh_from_db()
        assert not reviewer.is_adjudicator


class TestConflicts:
    def test_declaring_one_hands_back_only_what_it_concerns(self, annotator: Reviewer) -> None:
        concerned, other = (assigned(case_of(state=CaseState.LEASED), annotator) for _ in range(2))
        locked = reviewed(case_of(concerned.case.implementation, round=2), annotator, "CC")
        system = concerned.case.implementation.submission.system
        assert conflicts.add_conflict(reviewer=annotator, system=system) == 1
        states: dict[int | None, str] = dict(Assignment.objects.values_list("pk", "state"))
        assert (states[concerned.pk], states[other.pk]) == (AssignmentState.RETURNED, AssignmentState.ACTIVE)
        assert (states[locked.assignment_id], locked.case.reviews.count()) == (AssignmentState.DONE, 1)

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

    def test_removing_one_is_recorded(self, reviewer: Reviewer) -> None:
        conflicts.add_conflict(reviewer=reviewer, organisation="Alpha Lab")
        conflicts.remove_conflict(reviewer=reviewer, conflict=reviewer.conflicts.get())
        assert not reviewer.conflicts.exists()
        changes = [event.data["conflict"] for event in AuditEvent.objects.order_by("pk")]
        assert changes == [{"before": "", "after": "Alpha Lab"}, {"before": "Alpha Lab", "after": ""}]


class TestOpenCases:
    def test_what_waits_is_open_and_what_is_closed_is_not(self, reviewer: Reviewer) -> None:
        waiting = {case_of(state=state) for state in ("queued", "leased", "one_label", "disputed", "adjudicating")}
        for state in ("agreed", "final", "void", "reopened"):
            case_of(state=state)
        assert set(open_cases(reviewer)) == waiting

    @pytest.mark.parametrize(
        ("facts", "is_open"),
        [
            ({"code_licence": ""}, False),
            ({"visibility": Visibility.PRIVATE}, False),
            ({"visibility": Visibility.WITHDRAWN}, False),
            ({"visibility": Visibility.HIDDEN}, False),
            ({"kind": Kind.CALIBRATION, "visibility": Visibility.PRIVATE}, True),
            ({"kind": Kind.CALIBRATION, "visibility": Visibility.PRIVATE, "code_licence": ""}, False),
            ({"kind": Kind.CALIBRATION, "visibility": Visibility.HIDDEN}, False),
        ],
    )
    def test_only_code_that_may_be_shown(self, reviewer: Reviewer, facts: dict[str, Any], is_open: bool) -> None:
        case = case_of()
        Submission.objects.filter(pk=case.implementation.submission_id).update(**facts)
        assert open_cases(reviewer).filter(pk=case.pk).exists() is is_open

    def test_own_submissions_and_systems_and_those_in_conflict_are_closed(self, reviewer: Reviewer) -> None:
        case_of(answers(owner=reviewer.user)[0])
        case_of(answers(system=SystemFactory(owner=reviewer.user))[0])
        conflicts.add_conflict(reviewer=reviewer, system=case_of().implementation.submission.system)
        nobodys = case_of(answers(system=SystemFactory(owner=None))[0])
        assert list(open_cases(reviewer)) == [nobodys]

    @pytest.mark.parametrize("organisation", ["Große Universität", "GROSSE UNIVERSITÄT", " große  universität"])
    def test_an_organisation_in_conflict_is_closed_however_it_is_spelt(
        self, reviewer: Reviewer, organisation: str
    ) -> None:
        case_of(answers(system=SystemFactory(organisation="Große  Universität"))[0])
        other = case_of(answers(system=SystemFactory(organisation="Große Universität B"))[0])
        conflicts.add_conflict(reviewer=reviewer, organisation=organisation)
        assert list(open_cases(reviewer)) == [other]

    def test_the_own_affiliation_is_closed_for_systems_and_their_submitters_unless_it_is_none(
        self, reviewer: Reviewer
    ) -> None:
        theirs, alone = (ReviewerFactory(affiliation=name).user for name in ("Alpha Lab", "None"))
        made = [
            case_of(answers(system=SystemFactory(organisation="ALPHA LAB"))[0]),
            case_of(answers(owner=theirs, system=SystemFactory(organisation="Elsewhere"))[0]),
            case_of(answers(owner=alone)[0]),
            case_of(answers(system=SystemFactory(organisation="none"))[0]),
        ]
        assert set(open_cases(ReviewerFactory(affiliation="alpha lab"))) == set(made[2:])
        assert set(open_cases(reviewer)) == set(made)

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
        conflicts.add_conflict(reviewer=reviewer, system=repeat.implementation.submission.system)
        assert not open_cases(reviewer).exists()
