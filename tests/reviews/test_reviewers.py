"""Reviewers' roles, profiles, conflicts of interest and open cases, and their pages."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils import timezone

from reviews.annotators import conflicts, reviewers
from reviews.annotators.conflicts import add_conflict, remove_conflict
from reviews.annotators.invitations import accept, invite
from reviews.annotators.reviewers import open_cases, update_profile
from reviews.enums import AssignmentState, CaseKind, CaseState, Role
from reviews.exceptions import ReviewError
from reviews.labelling.keys import KEYS, keys_of
from reviews.models import Assignment, Case, Conflict, Invitation, Reviewer
from submissions.enums import Kind, Visibility
from submissions.exceptions import NotAllowedError
from submissions.models import Submission
from tests.leaderboard.showing import text_of
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, ready, reviewed
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

    from submissions.models import User

pytestmark = pytest.mark.django_db


class TestRoleChanges:
    def test_reviewer_of_finds_active_reviewers(self, reviewer: Reviewer) -> None:
        ended = ReviewerFactory(active=False)
        assert reviewer.user is not None
        assert reviewers.reviewer_of(reviewer.user) == reviewer
        assert [reviewers.reviewer_of(user) for user in (ended.user, UserFactory(), AnonymousUser())] == [None] * 3

    def test_deactivating_hands_back_items_and_reactivating_keeps_roles(self, maintainer: User) -> None:
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
        with pytest.raises(ReviewError, match="Give a reason"):
            reviewers.set_roles(actor=maintainer, reason="  ", adjudicator=True, **given)
        with pytest.raises(ReviewError, match="already has exactly these roles"):
            reviewers.set_roles(actor=maintainer, reason="why not", adjudicator=False, **given)
        reviewer.refresh_from_db()
        assert not reviewer.is_adjudicator


class TestConflicts:
    def test_declaring_a_conflict_hands_back_only_its_items(self, annotator: Reviewer) -> None:
        concerned, other = (assigned(case_of(state=CaseState.LEASED), annotator) for _ in range(2))
        locked = reviewed(case_of(concerned.case.implementation, round=2), annotator, "CC")
        system = concerned.case.implementation.submission.system
        assert conflicts.add_conflict(reviewer=annotator, system=system) == 1
        states: dict[int | None, str] = dict(Assignment.objects.values_list("pk", "state"))
        assert (states[concerned.pk], states[other.pk]) == (AssignmentState.RETURNED, AssignmentState.ACTIVE)
        assert (states[locked.assignment_id], locked.case.reviews.count()) == (AssignmentState.DONE, 1)


class TestOpenCases:
    def test_waiting_cases_are_open_and_closed_ones_are_not(self, reviewer: Reviewer) -> None:
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
    def test_only_answers_with_visible_code_are_open(
        self, reviewer: Reviewer, facts: dict[str, Any], is_open: bool
    ) -> None:
        case = case_of()
        Submission.objects.filter(pk=case.implementation.submission_id).update(**facts)
        assert open_cases(reviewer).filter(pk=case.pk).exists() is is_open

    @pytest.mark.both_databases
    def test_own_and_conflicting_submissions_are_excluded(self, reviewer: Reviewer) -> None:
        case_of(answers(owner=reviewer.user)[0])
        case_of(answers(system=SystemFactory(owner=reviewer.user))[0])
        conflicts.add_conflict(reviewer=reviewer, system=case_of().implementation.submission.system)
        nobodys = case_of(answers(system=SystemFactory(owner=None))[0])
        assert list(open_cases(reviewer)) == [nobodys]

    @pytest.mark.parametrize("organisation", ["Große Universität", "GROSSE UNIVERSITÄT", " große  universität"])
    @pytest.mark.both_databases
    def test_a_conflicting_organisation_is_excluded_in_any_spelling(
        self, reviewer: Reviewer, organisation: str
    ) -> None:
        case_of(answers(system=SystemFactory(organisation="Große  Universität"))[0])
        other = case_of(answers(system=SystemFactory(organisation="Große Universität B"))[0])
        conflicts.add_conflict(reviewer=reviewer, organisation=organisation)
        assert list(open_cases(reviewer)) == [other]

    @pytest.mark.both_databases
    def test_the_own_affiliation_is_excluded_unless_it_is_none(self, reviewer: Reviewer) -> None:
        theirs, alone = (ReviewerFactory(affiliation=name).user for name in ("Alpha Lab", "None"))
        made = [
            case_of(answers(system=SystemFactory(organisation="ALPHA LAB"))[0]),
            case_of(answers(owner=theirs, system=SystemFactory(organisation="Elsewhere"))[0]),
            case_of(answers(owner=alone)[0]),
            case_of(answers(system=SystemFactory(organisation="none"))[0]),
        ]
        assert set(open_cases(ReviewerFactory(affiliation="alpha lab"))) == set(made[2:])
        assert set(open_cases(reviewer)) == set(made)

    @pytest.mark.both_databases
    def test_a_labelled_answer_is_excluded_in_every_round(self, reviewer: Reviewer) -> None:
        review = reviewed(case_of(state=CaseState.REOPENED), reviewer, "CC")
        case_of(review.case.implementation, round=2, state=CaseState.QUEUED)
        assert not open_cases(reviewer).exists()
        assert open_cases(ReviewerFactory()).count() == 1

    def test_an_adjudicator_may_return_to_the_case_of_the_blind_label(self) -> None:
        adjudicator = ReviewerFactory(adjudicator=True)
        review = reviewed(case_of(state=CaseState.DISPUTED), adjudicator, "LI", role=Role.ADJUDICATOR)
        assert list(open_cases(adjudicator)) == [review.case]
        Case.objects.filter(pk=review.case.pk).update(state=CaseState.REOPENED)
        case_of(review.case.implementation, round=2)
        assert not open_cases(adjudicator).exists()

    def test_a_repeat_is_open_to_its_annotator_and_practice_to_none(self, reviewer: Reviewer) -> None:
        review = reviewed(case_of(state=CaseState.AGREED), reviewer, "CC")
        repeat = case_of(review.case.implementation, kind=CaseKind.REPEAT, reserved_for=reviewer)
        case_of(answers()[0], kind=CaseKind.PRACTICE, known_label="CC")
        reserved = case_of(reserved_for=ReviewerFactory())
        assert list(open_cases(reviewer)) == [repeat]
        assert reserved.reserved_for is not None
        assert list(open_cases(reserved.reserved_for)) == [reserved]
        conflicts.add_conflict(reviewer=reviewer, system=repeat.implementation.submission.system)
        assert not open_cases(reviewer).exists()


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
        assert "No annotators yet." in as_maintainer.get(PEOPLE).content.decode()
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
    def test_changing_roles_needs_a_reason_and_hands_back(self, as_maintainer: Client) -> None:
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
        assert "Amber Wren 10: the roles are changed; the held item went back" in text_of(page)
        history = as_maintainer.get(address).content.decode()
        assert "changed the annotator, not annotator, now adjudicator: long &lt;b&gt;service" in history

    def test_the_history_shows_what_the_reviewer_changed(self, as_maintainer: Client, maintainer: User) -> None:
        reviewer = accept(user=UserFactory(), secret=invite(actor=maintainer, annotator=True, adjudicator=True)[1])
        add_conflict(reviewer=reviewer, organisation="Gamma <b>")
        remove_conflict(reviewer=reviewer, conflict=reviewer.conflicts.get())
        facts: Any = {"name": "Dana", "shows_name": True, "affiliation": "Alpha", "expertise": "", "confirmed": True}
        update_profile(reviewer=reviewer, **facts)
        page = as_maintainer.get(reverse("review_person", args=[reviewer.pk])).content.decode()
        assert re.findall(r"(?:changed the annotator|joined the annotators), ([^<]+?)\s*</li>", page) == [
            "profile: affiliation, conflicts confirmed, name, shows name",
            "ended conflict with Gamma &lt;b&gt;",
            "new conflict with Gamma &lt;b&gt;",
            "as annotator and adjudicator",
        ]


PROFILE, CONFLICTS = "/reviews/profile/", "/reviews/profile/conflicts/"
TYPED = {"name": "Dana Doe", "affiliation": "Alpha Lab", "expertise": "Decoding.", "confirmed": "on"}


@pytest.fixture
def dana() -> Reviewer:
    made: Reviewer = ReviewerFactory(affiliation="")
    return made


@pytest.fixture
def as_dana(client: Client, dana: Reviewer) -> Client:
    assert dana.user is not None
    client.force_login(dana.user)
    return client


@pytest.mark.parametrize("address", [PROFILE, CONFLICTS, f"{CONFLICTS}1/remove/"])
def test_it_is_for_reviewers(client: Client, address: str) -> None:
    assert client.post(address)["Location"] == f"/accounts/login/?next={PROFILE}"
    for person in (UserFactory(is_staff=True), ReviewerFactory(active=False).user):
        client.force_login(person)
        assert (client.get(PROFILE).status_code, client.post(address).status_code) == (404, 404)


def test_saving_it(as_dana: Client, dana: Reviewer) -> None:
    assert as_dana.post(PROFILE, {**TYPED, "shows_name": "on"})["Location"] == "/reviews/"
    dana.refresh_from_db()
    assert (dana.affiliation, dana.expertise, dana.public_name) == ("Alpha Lab", "Decoding.", "Dana Doe")


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"affiliation": ""}, "affiliation", "Enter where you work"),
        ({"confirmed": ""}, "confirmed", "Check the conflicts"),
        ({"name": "", "shows_name": "on"}, "name", "Enter the name to show"),
        ({"name": "a\u202eb"}, "name", "direction character"),
    ],
)
def test_errors_are_shown_at_their_fields(
    as_dana: Client, dana: Reviewer, changes: dict[str, str], field: str, message: str
) -> None:
    response = as_dana.post(PROFILE, {**TYPED, **changes})
    dana.refresh_from_db()
    assert (response.status_code, dana.affiliation) == (422, "")
    assert message in " ".join(response.context["form"].errors[field])
    assert "Decoding.</textarea>" in response.content.decode()


def test_conflicts_are_confirmed_once_and_after_changes(as_dana: Client, dana: Reviewer) -> None:
    unticked = {key: text for key, text in TYPED.items() if key != "confirmed"}

    def status(**changes: str) -> int:
        return as_dana.post(PROFILE, {**unticked, **changes}).status_code

    assert [status(), status(confirmed="on"), status(name="Dana Roe")] == [422, 302, 302]
    assert [status(affiliation="ALPHA  lab"), status(affiliation="Beta")] == [302, 422]
    as_dana.post(CONFLICTS, {"organisation": "Gamma"})
    assert [status(name="Dana Poe"), status(confirmed="on"), status(name="Dana Poe")] == [422, 302, 302]
    as_dana.post(reverse("review_conflict_remove", args=[dana.conflicts.get().pk]))
    assert status(name="Dana Loe") == 422


def test_an_item_in_conflict_is_handed_back_with_a_message(as_dana: Client, dana: Reviewer) -> None:
    case = case_of(answers(system=SystemFactory(organisation="alpha LAB"))[0], state=CaseState.LEASED)
    held = assigned(case, dana)
    page = as_dana.post(PROFILE, TYPED, follow=True).content.decode()
    held.refresh_from_db()
    assert (held.state, "it was handed back" in page) == (AssignmentState.RETURNED, True)


def test_conflicts_are_added_and_removed(as_dana: Client, dana: Reviewer) -> None:
    system = answers()[0].submission.system
    assert as_dana.post(CONFLICTS, {"system": str(system.pk)})["Location"] == f"{PROFILE}#conflicts"
    as_dana.post(CONFLICTS, {"organisation": "Beta <b> Lab"})
    page = as_dana.get(PROFILE).content.decode()
    assert (f"System {system.name}" in page, "Organisation Beta &lt;b&gt; Lab" in page) == (True, True)
    as_dana.post(reverse("review_conflict_remove", args=[Conflict.objects.get(system=system).pk]))
    assert [str(each) for each in dana.conflicts.all()] == ["Beta <b> Lab"]
    both = {"organisation": "Gamma", "system": str(system.pk)}
    for typed, message in (
        ({"organisation": "beta <B>  lab"}, "already declared"),
        ({}, "choose one of them"),
        (both, "choose one of them"),
    ):
        response = as_dana.post(CONFLICTS, typed)
        assert (response.status_code, message in response.content.decode()) == (422, True)


def test_all_errors_are_shown_at_once(as_dana: Client) -> None:
    response = as_dana.post(PROFILE, {"shows_name": "on", "system": "999"})
    assert sorted(response.context["conflict_form"].errors) == ["system"]
    response = as_dana.post(PROFILE, {"shows_name": "on"})
    assert sorted(response.context["form"].errors) == ["affiliation", "confirmed", "name"]
    assert not response.context["conflict_form"].errors


def test_the_profile_s_text_is_kept_when_conflicts_change(as_dana: Client, dana: Reviewer) -> None:
    refused = as_dana.post(CONFLICTS, {**TYPED, "keys_off": "on"})
    added = as_dana.post(CONFLICTS, {**TYPED, "keys_off": "on", "organisation": "Gamma"}, follow=True)
    removal = reverse("review_conflict_remove", args=[dana.conflicts.get().pk])
    removed = as_dana.post(removal, {**TYPED, "keys_off": "on"}, follow=True)
    for response, status in ((refused, 422), (added, 200), (removed, 200)):
        page = response.content.decode()
        assert response.status_code == status
        assert re.search('name="affiliation" value="Alpha Lab"', page)
        assert "Decoding.</textarea>" in page
        ticked = [
            name for name in ("shows_name", "keys_off", "confirmed") if re.search(f'name="{name}"[^>]* checked', page)
        ]
        assert ticked == ["keys_off", "confirmed"]
    dana.refresh_from_db()
    assert dana.affiliation == ""
    assert 'value="Alpha Lab"' not in as_dana.get(PROFILE).content.decode()


def test_a_conflict_that_is_not_added_yet_is_stored_with_the_profile(as_dana: Client, dana: Reviewer) -> None:
    incomplete = as_dana.post(PROFILE, {**TYPED, "affiliation": "", "organisation": "Gamma"})
    assert (incomplete.status_code, 'value="Gamma"' in incomplete.content.decode()) == (422, True)
    assert not dana.conflicts.exists()
    assert as_dana.post(PROFILE, {**TYPED, "organisation": "Gamma"})["Location"] == "/reviews/"
    dana.refresh_from_db()
    assert [str(each) for each in dana.conflicts.all()] == ["Gamma"]
    assert (dana.affiliation, dana.conflicts_confirmed) == ("Alpha Lab", True)


def test_only_public_systems_are_offered_and_accepted(as_dana: Client, dana: Reviewer) -> None:
    secret = answers(published=False, system=SystemFactory(name="Marker System"))[0].submission.system
    assert "Marker System" not in as_dana.get(PROFILE).content.decode()
    response = as_dana.post(CONFLICTS, {"system": str(secret.pk)})
    assert (response.status_code, "Marker System" in response.content.decode()) == (422, False)
    assert not dana.conflicts.exists()


def test_others_conflicts_cannot_be_removed(as_dana: Client) -> None:
    theirs = Conflict.objects.create(reviewer=ReviewerFactory(), organisation="Marker Lab")
    assert as_dana.post(reverse("review_conflict_remove", args=[theirs.pk])).status_code == 404
    assert "Marker Lab" not in as_dana.get(PROFILE).content.decode()
    assert Conflict.objects.count() == 1


def test_the_labelling_pages_keys_can_be_disabled(as_dana: Client, dana: Reviewer) -> None:
    assert set(keys_of(dana).values()) == {key.key for key in KEYS.values()}
    for sent, off in (({"keys_off": "on"}, True), ({}, False)):
        as_dana.post(PROFILE, {"affiliation": "none", "confirmed": "on", **sent})
        dana.refresh_from_db()
        assert (dana.keys_off, set(keys_of(dana).values()) == {""}) == (off, off)
        assert as_dana.get(PROFILE).context["form"].initial["keys_off"] is off
