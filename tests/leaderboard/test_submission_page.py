"""The page of a submission: who sees it, what it shows while it runs and afterwards, and what its owner can do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from evaluator.enums import RunState
from evaluator.models import TestRun
from leaderboard.domain.entries import recompute_submission
from submissions.domain import publishing
from submissions.domain.audit import history
from submissions.enums import Kind, SubmissionState, Verb, Visibility
from submissions.models import Submission, User
from tests.evaluator.factories import TestRunFactory
from tests.submissions.factories import (
    ImplementationFactory,
    SubmissionFactory,
    SystemFactory,
    UserFactory,
    with_answers,
)

if TYPE_CHECKING:
    from pathlib import Path

    from django.http import HttpResponse
    from pytest_django import DjangoAssertNumQueries, Settings

pytestmark = pytest.mark.django_db
ACTIONS = ("submission_publish", "submission_withdraw", "submission_cancel", "submission_correct")


@pytest.fixture(autouse=True)
def media(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def alice() -> User:
    made: User = UserFactory(username="alice")
    return made


@pytest.fixture
def bob() -> User:
    made: User = UserFactory(username="bob")
    return made


@pytest.fixture
def carol() -> User:
    """A maintainer."""
    made: User = UserFactory(username="carol", is_staff=True)
    return made


def scored(owner: User, *outcomes: str, **facts: Any) -> Submission:
    """A scored submission with its board entry, one task for each outcome."""
    system = SystemFactory(owner=owner, name="Alpha Solver", backbone="alpha-2")
    submission: Submission = SubmissionFactory(owner=owner, system=system, **facts)
    for answer, outcome in zip(with_answers(submission, len(outcomes)), outcomes, strict=True):
        TestRunFactory(implementation=answer, done=outcome, seconds=1.25, reason=f"because {outcome}")
    recompute_submission(submission.pk)
    return submission


def get(client: Client, submission: Submission, user: User | None = None) -> HttpResponse:
    if user is not None:
        client.force_login(user)
    return client.get(submission.get_absolute_url())  # type: ignore[return-value]


def text_of(response: HttpResponse) -> str:
    """The page as text, white space squeezed."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", response.content.decode()))


# Who sees it


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.WITHDRAWN, Visibility.HIDDEN])
@pytest.mark.parametrize("stranger", ["nobody", "bob"])
def test_strangers_find_nothing(client: Client, alice: User, bob: User, visibility: str, stranger: str) -> None:
    submission = scored(alice, "passed", visibility=visibility, notes="secret notes")
    if stranger == "bob":
        client.force_login(bob)
    for name in ("submission", "submission_progress", "submission_bundle"):
        response = client.get(reverse(name, args=[submission.pk]))
        assert response.status_code == 404
        assert "Alpha Solver" not in response.content.decode()
        assert "secret notes" not in response.content.decode()


@pytest.mark.parametrize("visibility", list(Visibility))
def test_owner_and_maintainer_see_it_whatever_it_is(
    client: Client, alice: User, carol: User, visibility: Visibility
) -> None:
    submission = scored(alice, "passed", visibility=visibility)
    for user in (alice, carol):
        response = get(client, submission, user)
        assert response.status_code == 200
        assert "Alpha Solver" in response.content.decode()


def test_a_published_one_is_open_to_all_and_offers_strangers_nothing(client: Client, alice: User, bob: User) -> None:
    submission = scored(alice, "passed", published=True)
    submission.bundle.save("some.bundle", ContentFile(b"PK\x03\x04"))
    for user in (None, bob):
        page = get(client, submission, user).content.decode()
        assert "<form" not in page
        assert "/bundle/" not in page
        assert client.get(reverse("submission_bundle", args=[submission.pk])).status_code == 404


def test_what_was_withdrawn_leaves_its_reason_and_nothing_else(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", published=True)
    publishing.withdraw(submission=submission, actor=alice, reason="The wrong model answered.")
    response = get(client, submission)
    assert response.status_code == 404
    page = response.content.decode()
    assert "This submission was withdrawn by its owner." in page
    assert "The wrong model answered." in page
    assert "Alpha Solver" not in page


def test_what_was_never_published_leaves_no_trace(client: Client, alice: User, carol: User) -> None:
    submission = scored(alice, "passed")
    publishing.hide(submission=submission, actor=carol, reason="Copied answers.")
    assert "Copied answers." not in get(client, submission).content.decode()


# What it shows


def test_every_task_with_its_outcome_and_the_totals(client: Client, alice: User) -> None:
    submission = scored(
        alice, "passed", "wrong_output", "not_attempted", published=True, environment_digest="sha256:" + "ab" * 32
    )
    response = get(client, submission)
    rows = [(row.badge.text, row.badge.css, row.reason) for row in response.context["rows"]]  # type: ignore[attr-defined]
    assert rows == [
        ("passed", "passed", ""),
        ("wrong output", "failed", "because wrong_output"),
        ("not attempted", "failed", "because not_attempted"),
    ]
    text = text_of(response)
    assert "33.3 % [6.1, 79.2]" in text
    assert "1 of 3 tasks pass their unit tests" in text
    assert "evaluator 1, environment abababababab" in text
    assert "self-declared bundle, evaluated here" in text


def test_declared_tokens_and_cost_are_shown(client: Client, alice: User) -> None:
    submission = scored(alice, published=True)
    usage = {"input_tokens": 1000.0, "output_tokens": 234.0, "cost_usd": 0.125}
    with_answers(submission, 1, usage=usage)
    with_answers(submission, 1)
    rows = get(client, submission).context["rows"]  # type: ignore[attr-defined]
    assert [(row.tokens, row.cost) for row in rows] == [(1234, 0.125), (None, None)]


def test_the_newest_decided_run_counts(client: Client, alice: User) -> None:
    submission = scored(alice, published=True)
    answer = with_answers(submission, 1)[0]
    for version, outcome in (("1", "passed"), ("2", "raised")):
        TestRunFactory(implementation=answer, done=outcome, evaluator_version=version)
    TestRunFactory(implementation=answer, evaluator_version="3")
    assert [row.badge.text for row in get(client, submission).context["rows"]] == ["raised an error"]  # type: ignore[attr-defined]


def test_several_trials_are_told_apart(client: Client, alice: User) -> None:
    submission = scored(alice, published=True, trials=2)
    first = with_answers(submission, 1)[0]
    ImplementationFactory(submission=submission, revision=first.revision, trial=2)
    text = text_of(get(client, submission))
    assert "trial 1" in text
    assert "trial 2" in text


def test_foreign_text_is_escaped(client: Client, alice: User) -> None:
    submission = scored(alice, published=True, notes="<script>alert(1)</script>")
    answer = with_answers(submission, 1)[0]
    TestRunFactory(implementation=answer, done="raised", reason="<img src=x>")
    page = get(client, submission).content.decode()
    assert "<script>alert" not in page
    assert "<img src=x>" not in page


def test_a_held_one_says_why_and_whose_fault_it_is(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.HELD, held_reason="The image is missing.")
    TestRunFactory(implementation=with_answers(submission, 1)[0], state=RunState.HELD, reason="The image is missing.")
    text = text_of(get(client, submission, alice))
    assert "Held: a fault of this site, not of the answers. 1 of 2 answers are decided" in text
    assert "The image is missing." in text


# Live


def test_an_open_one_is_polled_and_a_settled_one_is_not(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    TestRunFactory(implementation=with_answers(submission, 1)[0], running=True)
    page = get(client, submission, alice).content.decode()
    address = reverse("submission_progress", args=[submission.pk])
    assert f'hx-get="{address}?seen=running-private-False-1-1-0-1"' in page
    assert 'hx-trigger="every 2s"' in page
    assert "1 of 2 answers decided, 1 running" in page
    assert "htmx" in page
    TestRun.objects.filter(state=RunState.RUNNING).update(state=RunState.DONE, outcome="raised", token=None)
    Submission.objects.update(state=SubmissionState.SCORED)
    partial = client.get(f"{address}?seen=running-private-False-1-1-0-1").content.decode()
    assert "hx-get" not in partial
    assert '<div id="announcement" hx-swap-oob="innerHTML">scored, 2 of 2 answers decided</div>' in partial
    assert "<html" not in partial
    assert "hx-get" not in get(client, submission, alice).content.decode()


def test_nothing_is_sent_while_nothing_changed(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    client.force_login(alice)
    address = reverse("submission_progress", args=[submission.pk])
    seen = client.get(address).context["fingerprint"]
    response = client.get(f"{address}?seen={seen}")
    assert (response.status_code, response.content) == (204, b"")
    assert response["Cache-Control"].startswith("max-age=0, no-cache")


@pytest.mark.parametrize("n", [1, 3])
def test_queries_do_not_grow(
    client: Client, alice: User, n: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    submission = scored(alice, *["passed"] * n, published=True)
    for _ in range(n):
        publishing.withdraw(submission=submission, actor=alice, reason="again")
        publishing.publish(submission=submission, actor=alice, code_licence="MIT", consent=True)
    client.force_login(alice)
    # session, user, submission, answers, runs, metric, history
    with django_assert_num_queries(7):
        get(client, submission)


# The bundle


@pytest.mark.parametrize(
    ("start", "ending"), [(b"PK\x03\x04", "zip"), (b"\x1f\x8b\x08", "tar.gz"), (b'{"instance_id"', "jsonl")]
)
def test_the_bundle_is_downloaded_never_shown(
    client: Client, alice: User, carol: User, start: bytes, ending: str
) -> None:
    submission = scored(alice)
    submission.bundle.save("some.bundle", ContentFile(start))
    for user in (alice, carol):
        client.force_login(user)
        response = client.get(reverse("submission_bundle", args=[submission.pk]))
        assert response.getvalue() == start
        assert response["Content-Disposition"] == f'attachment; filename="submission-{submission.pk}.{ending}"'
        assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")


# What its owner does


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
        assert client.post(reverse(action, args=[submission.pk]), typed | described).status_code == 404
    assert Submission.objects.values().get(pk=submission.pk) == before
    assert not history(submission).exists()
    submission.system.refresh_from_db()
    assert submission.system.name == "Alpha Solver"


@pytest.mark.parametrize("action", ACTIONS)
def test_actions_need_a_post_and_the_token(alice: User, action: str) -> None:
    submission = scored(alice)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    assert browser.get(reverse(action, args=[submission.pk])).status_code == 405
    assert browser.post(reverse(action, args=[submission.pk])).status_code == 403


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


def test_publishing_without_consent_comes_back_with_what_was_chosen(client: Client, alice: User) -> None:
    submission = scored(alice, "passed")
    client.force_login(alice)
    response = client.post(reverse("submission_publish", args=[submission.pk]), {"licence": "MIT"})
    assert response.status_code == 422
    assert response.context["publish"].errors == {"consent": ["Tick this box too, or choose no licence."]}
    assert '<option value="MIT" selected>' in response.content.decode()
    submission.refresh_from_db()
    assert submission.visibility == Visibility.PRIVATE


def test_a_refusal_of_the_domain_is_shown_in_the_form(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", state=SubmissionState.RUNNING)
    client.force_login(alice)
    response = client.post(reverse("submission_publish", args=[submission.pk]), {"consent": "on", "licence": "MIT"})
    assert response.context["publish"].non_field_errors() == [
        "Only a scored submission can be published. Wait until every task has its outcome."
    ]
    assert "Only a scored submission can be published." in response.content.decode()


def test_calibration_samples_say_who_publishes_them(client: Client, alice: User) -> None:
    submission = scored(alice, "passed", kind=Kind.CALIBRATION)
    text = text_of(get(client, submission, alice))
    assert "Calibration samples are published by maintainers only." in text
    assert "Publish it" not in text


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


def test_a_wrong_correction_keeps_what_was_typed(client: Client, alice: User) -> None:
    submission = scored(alice, "passed")
    client.force_login(alice)
    typed = {"name": "Alpha Two", "backbone": "", "scaffold": "none", "links": "nowhere", "reason": ""}
    response = client.post(reverse("submission_correct", args=[submission.pk]), typed)
    assert set(response.context["correct"].errors) == {"backbone", "links", "reason"}
    assert '<details id="correct" open>' in response.content.decode()
    assert 'value="Alpha Two"' in response.content.decode()


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
