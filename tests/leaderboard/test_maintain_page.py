"""The maintainers' page: who gets in, what it says of the queue, and what can be done there."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evaluator.enums import AttemptState, RunState
from evaluator.models import Attempt, TestRun
from submissions.domain import publishing
from submissions.domain.audit import history, record
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, Submission
from tests.evaluator.factories import TestRunFactory
from tests.submissions.factories import AuditEventFactory, SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from submissions.models import User

ADDRESS = "/maintain/"


def held_submission() -> Submission:
    """A held submission with one held and one decided run."""
    submission: Submission = SubmissionFactory(
        system__name="Alpha Solver", state=SubmissionState.HELD, held_reason="The image is missing."
    )
    held, decided = with_answers(submission, 2)
    TestRunFactory(implementation=held, state=RunState.HELD, infra_count=3, reason="The image is missing.")
    TestRunFactory(implementation=decided, done="passed")
    return submission


def text_of(client: Client, query: str = "") -> str:
    page = client.get(ADDRESS + query).content.decode().replace("</dt>", " ")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


def infra(run: TestRun, reason: str) -> None:
    """``run`` met an infrastructure error."""
    Attempt.objects.create(
        run=run, number=1, token=uuid4(), worker="w", state=AttemptState.INFRA, reason=reason, ended=timezone.now()
    )


def test_a_held_one_is_listed_with_its_newest_fault_in_full(as_maintainer: Client) -> None:
    submission = held_submission()
    infra(TestRun.objects.get(state=RunState.HELD), "no image at registry.internal:5000/box")
    # A fault that was overcome says nothing of why it is held.
    infra(TestRun.objects.get(state=RunState.DONE), "disk of host-7 was full")
    listed = text_of(as_maintainer).partition("Held submissions")[2].partition("Hide a submission")[0]
    assert f"Submission {submission.pk}: Alpha Solver" in listed
    assert "no image at registry.internal:5000/box" in listed
    assert "host-7" not in listed


def test_a_held_submission_is_retried(as_maintainer: Client, maintainer: User) -> None:
    submission = held_submission()
    assert "The image is missing." in text_of(as_maintainer)
    response = as_maintainer.post(reverse("maintain_retry"), {"submission": submission.pk}, follow=True)
    submission.refresh_from_db()
    assert submission.state == SubmissionState.QUEUED
    assert list(TestRun.objects.order_by("pk").values_list("state", "infra_count")) == [("queued", 0), ("done", 0)]
    assert f"Submission {submission.pk}: 1 run is queued again." in response.content.decode()
    assert (history(submission).get().verb, history(submission).get().actor) == (Verb.RETRIED, maintainer)


def test_hiding_and_showing_again_with_public_reasons(as_maintainer: Client) -> None:
    submission = SubmissionFactory(system__name="Alpha Solver")
    publishing.publish(submission=submission, actor=submission.owner, code_licence="MIT", consent=True)
    as_maintainer.post(reverse("maintain_hide"), {"submission": submission.pk, "reason": "Under review."})
    submission.refresh_from_db()
    assert (submission.visibility, submission.visibility_reason) == (Visibility.HIDDEN, "Under review.")
    assert f"Submission {submission.pk}: Alpha Solver is hidden: Under review." in text_of(as_maintainer)
    as_maintainer.post(reverse("maintain_unhide"), {"submission": submission.pk, "reason": "Reviewed."})
    submission.refresh_from_db()
    assert submission.visibility == Visibility.PUBLISHED


def test_a_wrong_form_comes_back_filled(as_maintainer: Client) -> None:
    response = as_maintainer.post(reverse("maintain_hide"), {"submission": "99", "reason": "Copied."})
    assert response.status_code == 422
    errors = response.context["hide"].errors
    assert errors == {"submission": ["There is no submission 99; its number is in its address."]}
    assert "Copied." in response.content.decode()
    assert not AuditEvent.objects.exists()


def test_a_person_gets_a_limit_of_their_own(as_maintainer: Client) -> None:
    person = UserFactory(username="dave")
    typed = {"username": "dave", "daily": "3", "reason": "a large model"}
    response = as_maintainer.post(reverse("maintain_quota"), typed, follow=True)
    person.refresh_from_db()
    assert person.daily_submissions == 3
    assert "dave may submit 3 times a day." in response.content.decode()
    assert "dave: 3 a day" in text_of(as_maintainer)
    as_maintainer.post(reverse("maintain_quota"), {"username": "dave", "daily": "", "reason": "done"})
    person.refresh_from_db()
    assert person.daily_submissions is None


def test_events_are_filtered_by_the_address(as_maintainer: Client, maintainer: User) -> None:
    record(verb=Verb.HIDDEN, subject=SubmissionFactory(), actor=maintainer, reason="reason of hiding")
    AuditEventFactory(verb=Verb.PUBLISHED, subject_id="999", subject_text="Beta", reason="reason of publishing")
    for query, shown in (
        ("", {"hiding", "publishing"}),
        ("?verb=hidden", {"hiding"}),
        ("?subject=beta", {"publishing"}),
        ("?subject=carol", {"hiding"}),
        ("?subject=nothing", set()),
    ):
        assert set(re.findall("reason of ([a-z]+)", text_of(as_maintainer, query))) == shown


def test_the_queue_in_numbers_and_what_runs_wait_for(as_maintainer: Client) -> None:
    submissions = [held_submission(), held_submission()]
    for submission in submissions:
        infra(TestRun.objects.get(implementation__submission=submission, state=RunState.HELD), "/srv/x is full")
    infra(TestRun.objects.filter(state=RunState.DONE)[0], "over long ago")
    old = TestRunFactory(implementation=with_answers(submissions[0], 1)[0])
    TestRun.objects.filter(pk=old.pk).update(created=timezone.now() - timedelta(hours=3))
    text = text_of(as_maintainer)
    assert "1 waiting, 0 running, 2 held, 2 done" in text
    assert "Oldest waiting 3 hours ago" in text
    assert "/srv/x is full 2 runs, last met just now" in text
    assert f"submissions {submissions[0].pk}, {submissions[1].pk}" in text
    assert "over long ago" not in text.partition("Re-evaluation")[0].partition("wait for")[2]


def test_events_come_in_pages_that_keep_the_filter(as_maintainer: Client) -> None:
    AuditEventFactory.create_batch(51, verb=Verb.CANCELLED)
    page = as_maintainer.get(f"{ADDRESS}?verb=cancelled").content.decode()
    assert "51 events, newest first" in page
    assert "?verb=cancelled&amp;page=2" in page
    assert len(as_maintainer.get(f"{ADDRESS}?verb=cancelled&page=2").context["events"].object_list) == 1


def test_only_what_is_held_is_retried(as_maintainer: Client) -> None:
    response = as_maintainer.post(reverse("maintain_retry"), {"submission": SubmissionFactory().pk})
    assert response.status_code == 422
    assert "Only a held submission can be retried." in response.content.decode()
