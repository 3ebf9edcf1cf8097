"""The maintainers' pages: the queue, actions on submissions and accounts, and re-evaluations."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmark_tasks.enums import AuditState
from evaluator.enums import AttemptState, ReevaluationState, RunState
from evaluator.models import Attempt, Reevaluation, TestRun
from evaluator.outcomes import Outcome
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from leaderboard.health.queues import queue_state
from leaderboard.web.views import maintain as views
from reviews.enums import TriggerKind
from reviews.models import Trigger
from submissions.domain import publishing
from submissions.domain.audit import history, record
from submissions.enums import SubmissionState, Verb, Visibility
from submissions.models import AuditEvent, Submission
from tests.benchmark_tasks.factories import SuiteFactory, SuiteVersionFactory, TaskFactory, TaskRevisionFactory
from tests.evaluator.factories import TestRunFactory
from tests.evaluator.reevaluations import decide, scored, start
from tests.leaderboard.factories import measured
from tests.leaderboard.judging import JudgeFactory
from tests.leaderboard.showing import words_of
from tests.reviews.factories import ReviewerFactory, answers, assigned, case_of, guideline, ready
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.factories import (
    AuditEventFactory,
    SubmissionFactory,
    SystemFactory,
    UserFactory,
    with_answers,
)

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


def inbox_of(client: Client) -> str:
    """The inbox as text."""
    return words_of(client.get(ADDRESS)).partition("Inbox (")[2].partition("Oldest in each state")[0]


def test_an_empty_inbox_says_so_in_one_line(as_maintainer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "queue_state", lambda: replace(queue_state(), registered=1))
    assert inbox_of(as_maintainer) == "0) Nothing waits for a maintainer. "


def test_a_held_submission_is_listed_with_its_newest_full_error(as_maintainer: Client) -> None:
    submission = held_submission()
    infra(TestRun.objects.get(state=RunState.HELD), "no image at registry.internal:5000/box")
    # An error of a finished run is not the reason for the hold.
    infra(TestRun.objects.get(state=RunState.DONE), "disk of host-7 was full")
    listed = inbox_of(as_maintainer)
    assert f"held Submission {submission.pk}: Alpha Solver" in listed
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


def test_the_oldest_in_each_state_is_in_a_table(as_maintainer: Client) -> None:
    assert "Oldest in each state Nothing waits." in words_of(as_maintainer.get(ADDRESS))
    submission = held_submission()
    table = words_of(as_maintainer.get(ADDRESS)).partition("Oldest in each state")[2].partition("Work Test runs")[0]
    expected = f"Held submissions Submission {submission.pk}: Alpha Solver on {submission.suite_version} by"
    assert expected in table
    assert "The image is missing. Correct what stopped it, then retry it. Retry it in the inbox" in table


def test_a_held_submission_is_retried(as_maintainer: Client, maintainer: User) -> None:
    submission = held_submission()
    assert "The image is missing." in words_of(as_maintainer.get(ADDRESS))
    response = as_maintainer.post(reverse("maintain_retry"), {"submission": submission.pk}, follow=True)
    submission.refresh_from_db()
    assert submission.state == SubmissionState.QUEUED
    assert list(TestRun.objects.order_by("pk").values_list("state", "infra_count")) == [("queued", 0), ("done", 0)]
    assert f"Submission {submission.pk}: 1 run is queued again." in response.content.decode()
    assert (history(submission).get().verb, history(submission).get().actor) == (Verb.RETRIED, maintainer)


SUBMISSIONS = "/maintain/submissions/"


def test_a_submission_is_hidden_and_unhidden_in_its_row_with_public_reasons(as_maintainer: Client) -> None:
    submission = SubmissionFactory(system__name="Alpha Solver")
    publishing.publish(submission=submission, actor=submission.owner, code_licence="MIT", consent=True)
    for act, reason, after, said in (
        ("hide", "Under review.", Visibility.HIDDEN, "hidden"),
        ("unhide", "Reviewed.", Visibility.PUBLISHED, "published again"),
    ):
        row = as_maintainer.get(SUBMISSIONS, {"q": "alpha"}).content.decode()
        action = f"/maintain/{act}/?q=alpha"
        assert re.findall(r'<form method="post" action="(/maintain/[^"]+)"', row) == [action]
        done = as_maintainer.post(action, {"submission": submission.pk, "reason": reason}, follow=True)
        assert done.redirect_chain == [(f"{SUBMISSIONS}?q=alpha", 302)]
        assert f"Submission {submission.pk} is {said}." in words_of(done)
        assert reason in words_of(done)
        submission.refresh_from_db()
        assert (submission.visibility, submission.visibility_reason) == (after, reason)


def test_an_invalid_form_is_shown_in_its_row_and_keeps_its_fields(as_maintainer: Client) -> None:
    submission, other = SubmissionFactory(), SubmissionFactory()
    response = as_maintainer.post(reverse("maintain_hide"), {"submission": submission.pk, "reason": "x" * 2001})
    assert response.status_code == 422
    rows = {row.subject.pk: row for row in response.context["rows"]}
    assert (rows[submission.pk].opened, rows[other.pk].opened) == (True, False)
    page = response.content.decode()
    assert page.count('<details class="row-action" open>') == 1
    assert "x" * 2001 in page
    refused = as_maintainer.post(reverse("maintain_unhide"), {"submission": submission.pk, "reason": "Copied."})
    assert "This submission is not published, so it cannot be shown again." in words_of(refused)
    assert "Copied." in refused.content.decode()
    assert not AuditEvent.objects.exists()


def test_a_refusal_about_a_row_that_is_not_on_the_page_is_shown_above(as_maintainer: Client) -> None:
    response = as_maintainer.post(reverse("maintain_hide"), {"submission": "99", "reason": "Copied."})
    assert response.status_code == 422
    assert "There is no submission 99; its number is in its address. Your reason was: Copied." in words_of(response)
    hidden = SubmissionFactory(visibility=Visibility.HIDDEN)
    address = f"{reverse('maintain_hide')}?visibility=published"
    gone = words_of(as_maintainer.post(address, {"submission": hidden.pk, "reason": "Copied."}))
    assert "This submission is hidden by a maintainer, so it cannot be hidden. Your reason was: Copied." in gone


def test_submissions_are_found_by_system_model_user_name_number_suite_state_and_visibility(
    as_maintainer: Client,
) -> None:
    first = SubmissionFactory(pk=712345, system__name="Omega 7", owner__username="dave", state=SubmissionState.HELD)
    second = SubmissionFactory(system__name="Beta", system__backbone="gamma-2", visibility=Visibility.HIDDEN)
    SubmissionFactory(system__name=f"Delta {first.pk}")
    for query, found in {
        "q=OMEGA": ["Omega 7"],
        "q=GAMMA": ["Beta"],
        "q=dave": ["Omega 7"],
        "q=dave+omega": ["Omega 7"],
        "q=dave+beta": [],
        f"q={first.pk}": [f"Delta {first.pk}", "Omega 7"],
        "q=99999999999999999999": [],
        f"suite={second.suite_version.suite.slug}": ["Beta"],
        "state=held": ["Omega 7"],
        "visibility=hidden": ["Beta"],
    }.items():
        rows = as_maintainer.get(f"{SUBMISSIONS}?{query}").context["rows"]
        assert [row.subject.system.name for row in rows] == found, query


ACCOUNTS = "/maintain/accounts/"


def test_a_user_gets_a_limit_of_their_own(as_maintainer: Client) -> None:
    person = UserFactory(username="dave")
    typed = {"username": "dave", "daily": "3", "reason": "a large model"}
    response = as_maintainer.post(f"{reverse('maintain_quota')}?q=dave", typed, follow=True)
    person.refresh_from_db()
    assert person.daily_submissions == 3
    assert response.redirect_chain == [(f"{ACCOUNTS}?q=dave", 302)]
    assert "dave may submit 3 times a day." in response.content.decode()
    assert "3 a day" in words_of(response)
    wrong = as_maintainer.post(reverse("maintain_quota"), {**typed, "daily": "-1"})
    assert (wrong.status_code, "a large model" in wrong.content.decode()) == (422, True)
    assert [row.subject.username for row in wrong.context["rows"] if row.opened] == ["dave"]
    unknown = as_maintainer.post(reverse("maintain_quota"), {**typed, "username": "Dave"})
    assert "There is no account 'Dave'; user names are case-sensitive. Your reason was:" in words_of(unknown)
    as_maintainer.post(reverse("maintain_quota"), {"username": "dave", "daily": "", "reason": "done"})
    person.refresh_from_db()
    assert person.daily_submissions is None


def test_accounts_are_found_by_user_name_e_mail_and_kind(as_maintainer: Client, maintainer: User) -> None:
    UserFactory(username="dave", email="d@mail.example", daily_submissions=0)
    SubmissionFactory.create_batch(2, owner=UserFactory(username="erin", email="e@other.example"))
    for query, found in {
        "q=DAV": ["dave"],
        "q=other.example": ["erin"],
        "who=limited": ["dave"],
        "who=maintainers": [maintainer.username],
    }.items():
        rows = as_maintainer.get(f"{ACCOUNTS}?{query}").context["rows"]
        assert [row.subject.username for row in rows] == found, query
    sent = {row.subject.username: row.subject.sent for row in as_maintainer.get(ACCOUNTS).context["rows"]}
    assert (sent["dave"], sent["erin"]) == (0, 2)
    assert '<a href="/maintain/submissions/?q=erin">2</a>' in as_maintainer.get(ACCOUNTS).content.decode()


def test_suites_show_the_newest_version_and_what_they_have(as_maintainer: Client) -> None:
    old = SuiteVersionFactory(suite=SuiteFactory(slug="small", title="Small"), tasks=1)
    failed = TaskRevisionFactory(task=TaskFactory(suite=old.suite), audit_state=AuditState.FAILED)
    SuiteVersionFactory(suite=old.suite, number=2, revisions=[failed, *old.revisions.all()])
    measured(old)
    measured(old, published=False)
    SuiteFactory(slug="empty", title="Empty")
    (row,) = as_maintainer.get("/maintain/suites/?q=SMALL").context["rows"]
    assert (row.suite.slug, row.version.number, row.tasks, row.audited) == ("small", 2, 2, 1)
    assert (row.submissions, row.rows, row.snapshots) == (2, 1, 0)
    assert "Empty empty – 0 0 0 0 0" in words_of(as_maintainer.get("/maintain/suites/"))


EVENTS = "/maintain/events/"


def test_events_link_to_their_subjects(as_maintainer: Client, maintainer: User) -> None:
    answer = with_answers(SubmissionFactory(), 1)[0]
    task = answer.revision.task
    reviewer, judge, case = ReviewerFactory(), JudgeFactory(), case_of(answer)
    linked: dict[Any, str | None] = {
        answer.submission: answer.submission.get_absolute_url(),
        answer: answer.get_absolute_url(),
        case: answer.get_absolute_url(),
        answer.submission.system: answer.submission.system.get_absolute_url(),
        task: task.get_absolute_url(),
        task.suite: task.suite.get_absolute_url(),
        answer.submission.suite_version: f"{task.suite.get_absolute_url()}?version=1",
        judge: judge.get_absolute_url(),
        reviewer: reverse("review_person", args=[reviewer.pk]),
        guideline(7): reverse("review_guideline", args=[7]),
        maintainer: f"/maintain/accounts/?q={maintainer.username}",
        start(scored("passed", evaluator="1")): None,
        EndpointFactory(): "",
    }
    for subject in linked:
        record(verb=Verb.CORRECTED, subject=subject, actor=maintainer)
    AuditEventFactory(subject_kind="submission", subject_id="999999")
    shown = {
        (row.event.subject_kind, row.event.subject_id): row.address for row in as_maintainer.get(EVENTS).context["rows"]
    }
    assert shown["submission", "999999"] == ""
    for subject, address in linked.items():
        found = shown[subject._meta.model_name, str(subject.pk)]
        assert found == (f"{subject.submission.get_absolute_url()}#reevaluations" if address is None else address)
    record(verb=Verb.ROLE, subject=maintainer, actor=None, data={"before": None, "after": "maintainer"})
    text = words_of(as_maintainer.get(EVENTS))
    assert f"{task.suite.title}, version 1" in text
    assert f"changed the role of account {maintainer.pk} {maintainer.username} to maintainer" in text


def test_an_appeal_is_hidden_from_a_maintainer_who_labels_an_answer_of_its_submission(
    as_maintainer: Client, maintainer: User
) -> None:
    labelled, other = (answers(1, system=SystemFactory(name=name))[0] for name in ("Quagga", "Zebra"))
    for answer in (labelled, other):
        case = case_of(answer)
        Trigger.objects.create(case=case, kind=TriggerKind.APPEAL, detail="Equation 3.")
        record(verb=Verb.APPEALED, subject=answer, actor=maintainer, reason=f"Evidence about {answer.pk}.")
    assert [name in inbox_of(as_maintainer) for name in ("Quagga", "Zebra")] == [True, True]
    assigned(labelled.cases.get(), ready(user=maintainer))
    assert [name in inbox_of(as_maintainer) for name in ("Quagga", "Zebra")] == [False, True]
    events = words_of(as_maintainer.get(EVENTS))
    assert f"Evidence about {labelled.pk}." not in events
    assert f"Evidence about {other.pk}." in events
    assert "hidden until you lock your label" in events


@pytest.mark.parametrize("page", [ADDRESS, SUBMISSIONS, ACCOUNTS, "/maintain/suites/", EVENTS])
def test_only_maintainers_see_the_pages(as_alice: Client, page: str) -> None:
    SubmissionFactory(system__name="Secret Weapon", state=SubmissionState.HELD)
    refused = as_alice.get(page)
    assert (refused.status_code, "This page needs a maintainer's account." in words_of(refused)) == (404, True)
    visitor = Client().get(page)
    assert (visitor.status_code, visitor["Location"]) == (302, f"/accounts/login/?next={page}")


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
        assert set(re.findall("reason of ([a-z]+)", words_of(as_maintainer.get(EVENTS + query)))) == shown


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
    assert "over long ago" not in text.partition("errors that runs wait for")[2]


def test_pages_of_events_keep_the_filter(as_maintainer: Client) -> None:
    AuditEventFactory.create_batch(51, verb=Verb.CANCELLED)
    page = as_maintainer.get(f"{EVENTS}?verb=cancelled").content.decode()
    assert "51 events, newest first" in page
    assert "?verb=cancelled&amp;page=2" in page
    assert len(as_maintainer.get(f"{EVENTS}?verb=cancelled&page=2").context["rows"]) == 1


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
    assert now.content.decode().count("<strong>counts</strong>") == 1
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
