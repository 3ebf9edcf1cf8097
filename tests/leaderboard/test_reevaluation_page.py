"""The maintainers' page of re-evaluations, and what the public sees of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse

from evaluator.enums import ReevaluationState, RunState
from evaluator.models import Reevaluation, TestRun
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from evaluator.testing.types import Outcome
from submissions.enums import Visibility
from submissions.models import Submission
from tests.evaluator.reevaluations import decide, scored, start
from tests.leaderboard.showing import words_of

if TYPE_CHECKING:
    from django.http import HttpResponse

    from submissions.models import User

pytestmark = pytest.mark.django_db
ADDRESS = "/maintain/reevaluate/"
WHY = f"evaluator 1 → {EVALUATOR_VERSION}"


def published(submission: Submission) -> Submission:
    Submission.objects.filter(pk=submission.pk).update(visibility=Visibility.PUBLISHED, code_licence="MIT")
    submission.refresh_from_db()
    return submission


def confirmed(client: Client, submission: Submission, **changes: str) -> HttpResponse:
    """What comes of confirming the plan that the page shows for ``submission``."""
    shown = client.get(ADDRESS, {"submission": submission.pk})
    typed = {"submission": submission.pk, "plan": shown.context["plan"], "reason": "A better evaluator.", **changes}
    return client.post(reverse("reevaluate_start"), typed)  # type: ignore[return-value]


def test_the_plan_says_what_and_why(as_maintainer: Client) -> None:
    submission = scored("passed", "raised", evaluator="1")
    TestRun.objects.filter(outcome="raised").update(evaluator_version=EVALUATOR_VERSION)
    response = as_maintainer.get(ADDRESS, {"suite": submission.suite_version.suite.slug})
    text = words_of(response)
    assert "1 of 1 scored submission, 1 answer to be measured again." in text
    assert f"1 1 {WHY} (1) stays 1" in text
    assert not Reevaluation.objects.exists()


def test_confirming_starts_it(as_maintainer: Client, maintainer: User) -> None:
    submission = scored("passed", evaluator="1")
    assert confirmed(as_maintainer, submission)["Location"] == ADDRESS
    made = Reevaluation.objects.get()
    assert (made.submission, made.reason, made.actor) == (submission, "A better evaluator.", maintainer)
    page = words_of(as_maintainer.get(ADDRESS))
    assert "under way, 0 of 1 done" in page
    assert "1 submission is being measured again." in page


def test_another_plan_than_was_shown_is_shown_before_anything_is_done(as_maintainer: Client) -> None:
    submission = scored("passed", evaluator="1")
    response = confirmed(as_maintainer, submission, plan="0" * 64)
    assert response.status_code == 422
    assert "The plan has changed since it was shown." in words_of(response)
    assert "A better evaluator." in response.content.decode()
    assert not Reevaluation.objects.exists()


def test_a_held_one_is_retried_and_one_under_way_stopped(as_maintainer: Client) -> None:
    made = start(scored("passed", evaluator="1"))
    made.runs.update(state=RunState.HELD)
    Reevaluation.objects.update(state=ReevaluationState.HELD, held_reason="the host failed")
    assert "the host failed" in words_of(as_maintainer.get(ADDRESS))
    made.runs.get().attempts.create(number=1, token="0" * 32, worker="w", state="infra", reason="/srv/x is full")
    shown = words_of(as_maintainer.get(ADDRESS))
    assert ("/srv/x is full" in shown, "the host failed" in shown) == (True, False)
    public = published(made.submission)
    assert "/srv/x" not in words_of(Client().get(public.get_absolute_url()))
    as_maintainer.post(reverse("reevaluate_retry"), {"reevaluation": made.pk})
    made.refresh_from_db()
    assert made.state == ReevaluationState.RUNNING
    as_maintainer.post(reverse("reevaluate_stop"), {"reevaluation": made.pk})
    made.refresh_from_db()
    assert made.state == ReevaluationState.CANCELLED
    page = words_of(as_maintainer.post(reverse("reevaluate_stop"), {"reevaluation": made.pk}, follow=True))
    assert "It has ended already." in page


def test_while_it_is_under_way_the_old_results_stand(client: Client) -> None:
    submission = published(scored("passed", "raised", evaluator="1"))
    start(submission, reason="A better evaluator.")
    decide(Outcome.TIMEOUT)
    response = client.get(submission.get_absolute_url())
    assert [row.badge.text for row in response.context["rows"]] == ["passed", "raised an error"]
    text = words_of(response)
    assert "(1 of 2 done): A better evaluator." in text
    assert "timed out" not in text


def test_the_difference_stands_on_the_submissions_page_and_in_its_history(client: Client) -> None:
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
def test_a_choice_that_names_nothing_says_so(as_maintainer: Client, query: dict[str, str], message: str) -> None:
    response = as_maintainer.get(ADDRESS, query)
    assert (response.status_code, response.context["planned"]) == (200, False)
    assert message in words_of(response)


def test_a_reason_is_needed(as_maintainer: Client) -> None:
    response = confirmed(as_maintainer, scored("passed", evaluator="1"), reason="")
    assert (response.status_code, Reevaluation.objects.exists()) == (422, False)
