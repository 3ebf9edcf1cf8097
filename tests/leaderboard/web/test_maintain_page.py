"""The maintainers' pages: the queue, actions on submissions and accounts, and re-evaluations."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evaluator.enums import AttemptState, ReevaluationState, RunState
from evaluator.models import Attempt, Reevaluation, TestRun
from evaluator.outcomes import Outcome
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from submissions.domain import publishing
from submissions.domain.audit import history, record
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, Submission
from tests.evaluator.factories import TestRunFactory
from tests.evaluator.reevaluations import decide, scored, start
from tests.leaderboard.showing import words_of
from tests.submissions.factories import AuditEventFactory, SubmissionFactory, UserFactory, with_answers

if TYPE_CHECKING:
    from django.http import HttpResponse
    from pytest_django import Settings

    from submissions.models import User

pytestmark = pytest.mark.django_db


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


def infra(run: TestRun, reason: str) -> None:
    """Record an infrastructure error of ``run``."""
    Attempt.objects.create(
        run=run, number=1, token=uuid4(), worker="w", state=AttemptState.INFRA, reason=reason, ended=timezone.now()
    )


def test_a_held_submission_is_listed_with_its_newest_full_error(as_maintainer: Client) -> None:
    submission = held_submission()
    infra(TestRun.objects.get(state=RunState.HELD), "no image at registry.internal:5000/box")
    # An error of a finished run is not the reason for the hold.
    infra(TestRun.objects.get(state=RunState.DONE), "disk of host-7 was full")
    listed = words_of(as_maintainer.get(ADDRESS)).partition("Held submissions")[2].partition("Hide a submission")[0]
    assert f"Submission {submission.pk}: Alpha Solver" in listed
    assert "no image at registry.internal:5000/box" in listed
    assert "host-7" not in listed


@pytest.mark.parametrize(("accepted", "trusted", "shown"), [(False, False, 0), (True, False, 1), (True, True, 0)])
def test_maintainers_see_that_no_proxy_is_in_front(
    as_maintainer: Client, settings: Settings, accepted: bool, trusted: bool, shown: int
) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, allow_no_proxy=accepted, trust_proxy=trusted)
    words = "no proxy in front ALLOW_NO_PROXY accepts that a few slow connections stop the site."
    assert [words_of(as_maintainer.get(page)).count(words) for page in (ADDRESS, "/status/")] == [shown, shown]
    assert [Client().get(page).content.count(b"proxy") for page in ("/status/", "/status.json")] == [0, 0]


def test_a_held_submission_is_retried(as_maintainer: Client, maintainer: User) -> None:
    submission = held_submission()
    assert "The image is missing." in words_of(as_maintainer.get(ADDRESS))
    response = as_maintainer.post(reverse("maintain_retry"), {"submission": submission.pk}, follow=True)
    submission.refresh_from_db()
    assert submission.state == SubmissionState.QUEUED
    assert list(TestRun.objects.order_by("pk").values_list("state", "infra_count")) == [("queued", 0), ("done", 0)]
    assert f"Submission {submission.pk}: 1 run is queued again." in response.content.decode()
    assert (history(submission).get().verb, history(submission).get().actor) == (Verb.RETRIED, maintainer)


def test_a_submission_is_hidden_and_unhidden_with_public_reasons(as_maintainer: Client) -> None:
    submission = SubmissionFactory(system__name="Alpha Solver")
    publishing.publish(submission=submission, actor=submission.owner, code_licence="MIT", consent=True)
    as_maintainer.post(reverse("maintain_hide"), {"submission": submission.pk, "reason": "Under review."})
    submission.refresh_from_db()
    assert (submission.visibility, submission.visibility_reason) == (Visibility.HIDDEN, "Under review.")
    assert f"Submission {submission.pk}: Alpha Solver is hidden: Under review." in words_of(as_maintainer.get(ADDRESS))
    as_maintainer.post(reverse("maintain_unhide"), {"submission": submission.pk, "reason": "Reviewed."})
    submission.refresh_from_db()
    assert submission.visibility == Visibility.PUBLISHED


def test_an_invalid_form_keeps_its_fields(as_maintainer: Client) -> None:
    response = as_maintainer.post(reverse("maintain_hide"), {"submission": "99", "reason": "Copied."})
    assert response.status_code == 422
    errors = response.context["hide"].errors
    assert errors == {"submission": ["There is no submission 99; its number is in its address."]}
    assert "Copied." in response.content.decode()
    assert not AuditEvent.objects.exists()


def test_a_user_gets_a_limit_of_their_own(as_maintainer: Client) -> None:
    person = UserFactory(username="dave")
    typed = {"username": "dave", "daily": "3", "reason": "a large model"}
    response = as_maintainer.post(reverse("maintain_quota"), typed, follow=True)
    person.refresh_from_db()
    assert person.daily_submissions == 3
    assert "dave may submit 3 times a day." in response.content.decode()
    assert "dave: 3 a day" in words_of(as_maintainer.get(ADDRESS))
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
        assert set(re.findall("reason of ([a-z]+)", words_of(as_maintainer.get(ADDRESS + query)))) == shown


def test_the_queue_shows_counts_and_reasons_for_waiting(as_maintainer: Client) -> None:
    submissions = [held_submission(), held_submission()]
    for submission in submissions:
        infra(TestRun.objects.get(implementation__submission=submission, state=RunState.HELD), "/srv/x is full")
    infra(TestRun.objects.filter(state=RunState.DONE)[0], "over long ago")
    old = TestRunFactory(implementation=with_answers(submissions[0], 1)[0])
    TestRun.objects.filter(pk=old.pk).update(created=timezone.now() - timedelta(hours=3))
    text = words_of(as_maintainer.get(ADDRESS))
    assert "1 waiting, 0 running, 2 held, 2 done" in text
    assert "Oldest waiting 3 hours ago" in text
    assert "/srv/x is full 2 runs, last met just now" in text
    assert f"submissions {submissions[0].pk} , {submissions[1].pk}" in text
    assert "over long ago" not in text.partition("Re-evaluation")[0].partition("wait for")[2]


def test_pages_of_events_keep_the_filter(as_maintainer: Client) -> None:
    AuditEventFactory.create_batch(51, verb=Verb.CANCELLED)
    page = as_maintainer.get(f"{ADDRESS}?verb=cancelled").content.decode()
    assert "51 events, newest first" in page
    assert "?verb=cancelled&amp;page=2" in page
    assert len(as_maintainer.get(f"{ADDRESS}?verb=cancelled&page=2").context["events"].object_list) == 1


def test_only_held_submissions_are_retried(as_maintainer: Client) -> None:
    response = as_maintainer.post(reverse("maintain_retry"), {"submission": SubmissionFactory().pk})
    assert response.status_code == 422
    assert "Only a held submission can be retried." in response.content.decode()


REEVALUATE = "/maintain/reevaluate/"
WHY = f"evaluator 1 → {EVALUATOR_VERSION}"


def published(submission: Submission) -> Submission:
    Submission.objects.filter(pk=submission.pk).update(visibility=Visibility.PUBLISHED, code_licence="MIT")
    submission.refresh_from_db()
    return submission


def confirmed(client: Client, submission: Submission, **changes: str) -> HttpResponse:
    """The response to confirming the plan that the page shows for ``submission``."""
    shown = client.get(REEVALUATE, {"submission": submission.pk})
    typed = {"submission": submission.pk, "plan": shown.context["plan"], "reason": "A better evaluator.", **changes}
    return client.post(reverse("reevaluate_start"), typed)  # type: ignore[return-value]


def test_the_plan_shows_answers_and_reasons(as_maintainer: Client) -> None:
    submission = scored("passed", "raised", evaluator="1")
    TestRun.objects.filter(outcome="raised").update(evaluator_version=EVALUATOR_VERSION)
    response = as_maintainer.get(REEVALUATE, {"suite": submission.suite_version.suite.slug})
    text = words_of(response)
    assert "1 of 1 scored submission, 1 answer to be measured again." in text
    assert f"1 1 {WHY} (1) stays 1" in text
    assert not Reevaluation.objects.exists()


def test_confirming_starts_the_reevaluation(as_maintainer: Client, maintainer: User) -> None:
    submission = scored("passed", evaluator="1")
    assert confirmed(as_maintainer, submission)["Location"] == REEVALUATE
    made = Reevaluation.objects.get()
    assert (made.submission, made.reason, made.actor) == (submission, "A better evaluator.", maintainer)
    page = words_of(as_maintainer.get(REEVALUATE))
    assert "under way, 0 of 1 done" in page
    assert "1 submission is being measured again." in page


def test_a_changed_plan_is_shown_before_it_starts(as_maintainer: Client) -> None:
    submission = scored("passed", evaluator="1")
    response = confirmed(as_maintainer, submission, plan="0" * 64)
    assert response.status_code == 422
    assert "The plan has changed since it was shown." in words_of(response)
    assert "A better evaluator." in response.content.decode()
    assert not Reevaluation.objects.exists()


def test_a_held_reevaluation_is_retried_and_a_running_one_stopped(as_maintainer: Client) -> None:
    made = start(scored("passed", evaluator="1"))
    made.runs.update(state=RunState.HELD)
    Reevaluation.objects.update(state=ReevaluationState.HELD, held_reason="the host failed")
    assert "the host failed" in words_of(as_maintainer.get(REEVALUATE))
    made.runs.get().attempts.create(number=1, token="0" * 32, worker="w", state="infra", reason="/srv/x is full")
    shown = words_of(as_maintainer.get(REEVALUATE))
    assert ("/srv/x is full" in shown, "the host failed" in shown) == (True, False)
    public = published(made.submission)
    assert "/srv/x" not in words_of(Client().get(public.get_absolute_url()))
    as_maintainer.post(reverse("reevaluate_retry", args=[made.pk]))
    made.refresh_from_db()
    assert made.state == ReevaluationState.RUNNING
    as_maintainer.post(reverse("reevaluate_stop", args=[made.pk]))
    made.refresh_from_db()
    assert made.state == ReevaluationState.CANCELLED
    page = words_of(as_maintainer.post(reverse("reevaluate_stop", args=[made.pk]), follow=True))
    assert "This re-evaluation has already ended." in page


def test_during_a_reevaluation_the_old_results_apply(client: Client) -> None:
    submission = published(scored("passed", "raised", evaluator="1"))
    start(submission, reason="A better evaluator.")
    decide(Outcome.TIMEOUT)
    response = client.get(submission.get_absolute_url())
    assert [row.badge.text for row in response.context["rows"]] == ["passed", "raised an error"]
    text = words_of(response)
    assert "(1 of 2 done): A better evaluator." in text
    assert "timed out" not in text


def test_the_difference_is_on_the_submission_s_page_and_in_its_history(client: Client) -> None:
    submission = published(scored("passed", "raised", evaluator="1"))
    slug = submission.suite_version.revisions.order_by("pk")[0].task.slug
    start(submission, reason="A better evaluator.")
    decide(Outcome.TIMEOUT)
    decide(Outcome.RAISED)
    text = words_of(client.get(submission.get_absolute_url()))
    assert f"{WHY}. 2 answers measured again, 1 outcome changed, passed tasks 1/2 → 0/2" in text
    assert f"{slug}: passed timed out" in text
    assert "the site re-evaluated it: A better evaluator." in text


def test_old_results_can_still_be_opened(client: Client) -> None:
    submission = published(scored("passed", evaluator="1"))
    answer = submission.implementations.get()
    old = TestRun.objects.get()
    start(submission)
    pending = TestRun.objects.exclude(pk=old.pk).get()
    address = answer.get_absolute_url()
    assert client.get(address, {"run": pending.pk}).status_code == 404
    decide(Outcome.TIMEOUT)
    now = client.get(address)
    assert now.context["run"] == pending
    assert [run for run, _ in now.context["measured"]] == [pending, old]
    assert now.content.decode().count("this one counts") == 1
    before = client.get(address, {"run": old.pk})
    assert before.context["run"] == old
    assert "An earlier result, which no longer counts." in words_of(before)
    other = scored("passed")
    foreign = TestRun.objects.get(implementation__submission=other)
    assert client.get(address, {"run": foreign.pk}).status_code == 404


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"task": "nothing/here/1"}, "There is no task nothing/here/1."),
        ({"submission": "99"}, "There is no submission 99"),
        ({"suite": "nothing", "task": "here/1"}, "There is no suite nothing."),
    ],
)
def test_unknown_selections_are_reported(as_maintainer: Client, query: dict[str, str], message: str) -> None:
    response = as_maintainer.get(REEVALUATE, query)
    assert (response.status_code, response.context["planned"]) == (200, False)
    assert message in words_of(response)


def test_a_reason_is_required(as_maintainer: Client) -> None:
    response = confirmed(as_maintainer, scored("passed", evaluator="1"), reason="")
    assert (response.status_code, Reevaluation.objects.exists()) == (422, False)
