"""A reviewer's own page: profile, conflicts of interest, and the switch of the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from reviews.enums import AssignmentState, CaseState
from reviews.labelling.keys import KEYS, keys_of
from reviews.models import Conflict, Reviewer
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of
from tests.submissions.factories import SystemFactory, UserFactory

if TYPE_CHECKING:
    from django.test import Client

pytestmark = pytest.mark.django_db
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
    ("changes", "field", "said"),
    [
        ({"affiliation": ""}, "affiliation", "required"),
        ({"confirmed": ""}, "confirmed", "Look through the conflicts"),
        ({"name": "", "shows_name": "on"}, "name", "Type the name that shall be shown"),
        ({"name": "a\u202eb"}, "name", "direction character"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    as_dana: Client, dana: Reviewer, changes: dict[str, str], field: str, said: str
) -> None:
    response = as_dana.post(PROFILE, {**TYPED, **changes})
    dana.refresh_from_db()
    assert (response.status_code, dana.affiliation) == (422, "")
    assert said in " ".join(response.context["form"].errors[field])
    assert "Decoding.</textarea>" in response.content.decode()


def test_conflicts_are_confirmed_once_and_again_when_something_is_new(as_dana: Client, dana: Reviewer) -> None:
    unticked = {key: text for key, text in TYPED.items() if key != "confirmed"}

    def status(**changes: str) -> int:
        return as_dana.post(PROFILE, {**unticked, **changes}).status_code

    assert [status(), status(confirmed="on"), status(name="Dana Roe")] == [422, 302, 302]
    assert [status(affiliation="ALPHA  lab"), status(affiliation="Beta")] == [302, 422]
    as_dana.post(CONFLICTS, {"organisation": "Gamma"})
    assert [status(name="Dana Poe"), status(confirmed="on"), status(name="Dana Poe")] == [422, 302, 302]
    as_dana.post(reverse("review_conflict_remove", args=[dana.conflicts.get().pk]))
    assert status(name="Dana Loe") == 422


def test_an_item_in_conflict_is_handed_back_and_that_is_said(as_dana: Client, dana: Reviewer) -> None:
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
    for typed, said in (({"organisation": "beta <B> lab"}, "declared already"), ({}, "one of both")):
        response = as_dana.post(CONFLICTS, typed)
        assert (response.status_code, said in response.content.decode()) == (422, True)


def test_only_public_systems_are_offered_and_taken(as_dana: Client, dana: Reviewer) -> None:
    secret = answers(published=False, system=SystemFactory(name="Marker System"))[0].submission.system
    assert "Marker System" not in as_dana.get(PROFILE).content.decode()
    response = as_dana.post(CONFLICTS, {"system": str(secret.pk)})
    assert (response.status_code, "Marker System" in response.content.decode()) == (422, False)
    assert not dana.conflicts.exists()


def test_others_conflicts_are_not_ones_own(as_dana: Client) -> None:
    theirs = Conflict.objects.create(reviewer=ReviewerFactory(), organisation="Marker Lab")
    assert as_dana.post(reverse("review_conflict_remove", args=[theirs.pk])).status_code == 404
    assert "Marker Lab" not in as_dana.get(PROFILE).content.decode()
    assert Conflict.objects.count() == 1


def test_the_keys_of_the_labelling_page_have_one_switch(as_dana: Client, dana: Reviewer) -> None:
    assert set(keys_of(dana).values()) == {key.key for key in KEYS.values()}
    for sent, off in (({"keys_off": "on"}, True), ({}, False)):
        as_dana.post(PROFILE, {"affiliation": "none", "confirmed": "on", **sent})
        dana.refresh_from_db()
        assert (dana.keys_off, set(keys_of(dana).values()) == {""}) == (off, off)
        assert as_dana.get(PROFILE).context["form"].initial["keys_off"] is off
