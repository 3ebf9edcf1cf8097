"""What the owner of a submission does to it on its page, and what strangers cannot do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import reverse

from submissions.domain import publishing
from submissions.domain.audit import history
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import Submission, User
from tests.leaderboard.showing import get, scored, text_of
from tests.submissions.factories import (
    UserFactory,
)

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.django_db
ACTIONS = ("submission_publish", "submission_withdraw", "submission_cancel", "submission_correct")


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("facts", [{"published": True}, {"state": SubmissionState.RUNNING}])
def test_strangers_do_nothing(client: Client, alice: User, bob: User, action: str, facts: dict[str, Any]) -> None:
    typed = {"consent": "on", "licence": "MIT", "reason": "because", "confirm": "on"}
    described = {"name": "Bobs", "backbone": "b-1", "scaffold": "none"}
    submission = scored(alice, **facts)
    before = Submission.objects.values().get(pk=submission.pk)
    for user in (None, bob):
        if user:
            client.force_login(user)
        response = client.post(reverse(action, args=[submission.pk]), typed | described)
        assert response.status_code == (404 if user else 302)
    assert Submission.objects.values().get(pk=submission.pk) == before
    assert not history(submission).exists()
    submission.system.refresh_from_db()
    assert submission.system.name == "Alpha Solver"


@pytest.mark.parametrize("action", ACTIONS)
def test_actions_need_a_post_and_the_token(alice: User, action: str) -> None:
    submission = scored(alice)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    for method in (browser.get, browser.head):
        response = method(reverse(action, args=[submission.pk]))
        assert (response.status_code, response["Location"]) == (302, submission.get_absolute_url())
    refused = browser.options(reverse(action, args=[submission.pk]))
    assert (refused.status_code, refused["Allow"]) == (405, "GET, HEAD, POST")
    assert f'<a href="{submission.get_absolute_url()}">' in refused.content.decode()
    assert browser.post(reverse(action, args=[submission.pk])).status_code == 403


@pytest.mark.parametrize("action", ACTIONS)
def test_whoever_was_signed_out_is_told_and_comes_back(client: Client, alice: User, action: str) -> None:
    submission = scored(alice, "passed")
    response = client.post(reverse(action, args=[submission.pk]), {"reason": "because"}, follow=True)
    assert response.redirect_chain == [(f"/accounts/login/?next={submission.get_absolute_url()}", 302)]
    assert "You were signed out, so nothing was done and what you typed is lost." in response.content.decode()
    unknown = client.post(reverse(action, args=[submission.pk + 1]))
    assert unknown.status_code == 302


def test_publishing(client: Client, alice: User) -> None:
    submission = scored(alice, "passed")
    client.force_login(alice)
    address = reverse("submission_publish", args=[submission.pk])
    assert f'action="{address}"' in get(client, submission).content.decode()
    response = client.post(address, {"consent": "on", "licence": "MIT"}, follow=True)
    submission.refresh_from_db()
    assert submission.visibility == Visibility.PUBLISHED
    assert "Published: it is on the board now." in response.content.decode()
    assert f'action="{address}"' not in response.content.decode()


def test_a_refusal_of_the_domain_is_shown_in_the_form(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    client.force_login(alice)
    response = client.post(reverse("submission_publish", args=[submission.pk]), {"consent": "on", "licence": "MIT"})
    assert response.context["publish"].non_field_errors() == [
        "Only a scored submission can be published. Wait until every task has its outcome."
    ]
    assert "Only a scored submission can be published." in response.content.decode()


def test_withdrawing_needs_a_reason(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", published=True)
    client.force_login(alice)
    address = reverse("submission_withdraw", args=[submission.pk])
    assert '<details id="withdraw" open>' in client.post(address, {"reason": ""}).content.decode()
    response = client.post(address, {"reason": "The wrong model answered."}, follow=True)
    submission.refresh_from_db()
    assert submission.visibility == Visibility.WITHDRAWN
    assert "alice (its owner) withdrew it: The wrong model answered." in text_of(response)  # type: ignore[arg-type]


def test_cancelling_needs_confirmation(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    client.force_login(alice)
    address = reverse("submission_cancel", args=[submission.pk])
    response = client.post(address)
    assert response.context["cancel"].errors == {"confirm": ["Tick the box to confirm: what is under way is lost."]}
    submission.refresh_from_db()
    assert submission.state == SubmissionState.RUNNING
    client.post(address, {"confirm": "on"})
    submission.refresh_from_db()
    assert submission.state == SubmissionState.CANCELLED


def test_a_correction_leaves_a_public_trace(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", published=True)
    typed = {"name": "Alpha Solver", "backbone": "alpha-3", "scaffold": "none", "reason": "It was alpha-3."}
    client.force_login(alice)
    client.post(reverse("submission_correct", args=[submission.pk]), typed)
    client.logout()
    text = text_of(get(client, submission))
    assert "alice (its owner) corrected it: It was alpha-3. backbone: alpha-2 alpha-3" in text
    assert "Alpha Solver: alpha-3, no agent" in text


def test_the_public_trace_names_no_address(client: Client, alice: User, carol: User) -> None:
    owner = UserFactory(username="dave@mail.example", email="dave@mail.example")
    submission = scored(owner, "passed")
    publishing.publish(submission=submission, actor=owner, code_licence="MIT", consent=True)
    publishing.hide(submission=submission, actor=carol, reason="under review")
    publishing.unhide(submission=submission, actor=carol, reason="reviewed")
    response = get(client, submission)
    assert [event.verb for event in history(submission)] == [Verb.UNHIDDEN, Verb.HIDDEN, Verb.PUBLISHED]
    assert [(line.who, line.reason) for line in response.context["trace"]] == [  # type: ignore[attr-defined]
        ("carol (maintainer)", "reviewed"),
        ("carol (maintainer)", "under review"),
        ("dave (its owner)", ""),
    ]
    assert "mail.example" not in response.content.decode()
