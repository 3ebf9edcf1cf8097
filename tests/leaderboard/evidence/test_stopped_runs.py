"""Pages and API of runs that are waiting, paused, held or cancelled, also with calls in flight."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluator.enums import CallState, GenerationState, RunState, WorkState
from evaluator.generation.generating import PAUSED_BY_HAND, cancel_generation
from evaluator.models import AnswerRequest, Generation, TestRun
from submissions.domain.submitting import cancel
from submissions.enums import SubmissionState
from submissions.models import Endpoint, Implementation, Submission
from tests.evaluator.factories import TestRunFactory
from tests.leaderboard.api.program import Program
from tests.leaderboard.endpoint_runs import called, endpoint_run
from tests.leaderboard.showing import words_of
from tests.submissions.factories import SubmissionFactory, with_answers

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from submissions.models import User

pytestmark = pytest.mark.django_db
DONE, RUNNING, QUEUED, HELD = WorkState.DONE, WorkState.RUNNING, WorkState.QUEUED, WorkState.HELD


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture(autouse=True)
def no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.generation.generating.push", lambda _count, _queue: None)


def part(client: Client, run: Generation) -> Any:
    return client.get(reverse("generation_progress", args=[run.submission_id]))


def page(client: Client, run: Generation) -> str:
    return words_of(client.get(run.submission.get_absolute_url()))


def requests(run: Generation) -> list[AnswerRequest]:
    return list(run.requests.order_by("pk"))


def cancelled(run: Generation, owner: User) -> Generation:
    cancel(submission=run.submission, actor=owner)
    cancel_generation(run.submission_id)
    return run


def test_a_cancelled_run_shows_its_answers_its_cost_and_its_unsent_requests(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, DONE, RUNNING, QUEUED)
    first, second, third, _ = requests(run)
    for request in (first, second):
        called(request)
        Implementation.objects.filter(request=request).update(attempted=True)
    called(third, state=CallState.FAILED)
    cancel(submission=run.submission, actor=alice)
    cancel_generation(run.submission_id)
    address = run.submission.get_absolute_url()
    progress = as_alice.get(reverse("submission_progress", args=[run.submission_id]))
    states = ["not tested: cancelled"] * 2 + ["stopped: the run was cancelled", "not asked: the run was cancelled"]
    for response in (as_alice.get(address), progress):
        sentence = (
            "Cancelled after 2 of 4 answers; its calls cost US $ 0.0096. Nothing was tested, and there is no score."
        )
        assert sentence in words_of(response)
        assert [row.badge.text for row in response.context["rows"]] == states
        assert "waiting" not in words_of(response)
    assert [words_of(as_alice.get(address)).count(each) for each in states[2:]] == [2, 2]
    answer = requests(run)[3].implementation.get_absolute_url()
    assert "Not asked: the run was cancelled." in words_of(as_alice.get(answer))
    program = Program(alice)
    assert [each["state"] for each in program.get(f"{address}answers".rstrip("/"))["items"]] == states
    shown = program.get(f"/submissions/{run.submission_id}/run")
    assert [shown[name] for name in ("state", "answered", "total", "dollars")] == ["cancelled", 2, 4, "0.009600"]


@pytest.mark.parametrize(
    ("late", "sentence"),
    [
        ({}, "its calls cost US $ 0.0096. 1 reply was counted but not used: 1,500 tokens, US $ 0.0048."),
        (
            {"input_tokens": None, "output_tokens": None, "dollars": None},
            "Cancelled after 1 of 3 answers. 1 reply was counted but not used: tokens unknown.",
        ),
        (
            {"state": CallState.SENDING},
            "its calls cost US $ 0.0048. 1 call has no reply; the provider may charge for it as well. Nothing was",
        ),
        ({"state": CallState.FAILED}, "its calls cost US $ 0.0048. Nothing was tested"),
    ],
    ids=["answered", "unreported", "on its way", "failed"],
)
def test_the_costs_of_a_cancelled_run_s_rows_add_up_to_its_sentence(
    as_alice: Client, alice: User, late: dict[str, Any], sentence: str
) -> None:
    run = endpoint_run(alice, DONE, RUNNING, QUEUED)
    first, second, _ = requests(run)
    called(first)
    Implementation.objects.filter(request=first).update(attempted=True, usage={"cost_usd": 0.0048})
    called(second, **late)
    assert sentence in page(as_alice, cancelled(run, alice))
    shown = part(as_alice, run).context
    if shown["asking"].used.dollars is not None:
        assert shown["asking"].used.dollars == Decimal("0.0048") + shown["unused"].used.dollars


@pytest.mark.parametrize("state", [GenerationState.PAUSED, GenerationState.CANCELLED])
def test_the_rows_of_a_stopped_run_include_usage_of_calls_without_an_answer(
    as_alice: Client, alice: User, state: str
) -> None:
    run = endpoint_run(alice, DONE, QUEUED, QUEUED, QUEUED)
    first, second, third, _ = requests(run)
    called(first)
    called(second)
    called(third, state=CallState.FAILED, dollars=Decimal(0))
    counted = {"input_tokens": 1200, "output_tokens": 300, "cost_usd": 0.0048}
    Implementation.objects.filter(request=first).update(attempted=True, usage=counted)
    if state == GenerationState.PAUSED:
        Generation.objects.update(state=state)
    else:
        cancelled(run, alice)
    program = Program(alice)
    rows = program.get(f"/submissions/{run.submission_id}/answers")["items"]
    assert [(row["tokens"], row["dollars"]) for row in rows] == [(1500, 0.0048), (1500, 0.0048), (0, 0.0), (None, None)]
    total = program.get(f"/submissions/{run.submission_id}/run")
    assert (total["input_tokens"] + total["output_tokens"], total["dollars"]) == (3000, "0.009600")
    address = second.implementation.get_absolute_url()
    assert program.get(f"{address.removesuffix('/')}")["tokens"] == 1500
    assert "Tokens 1,500, US $ 0.0048, without an answer" in words_of(as_alice.get(address))
    assert "1 call 0 0.0000" in words_of(part(as_alice, run))


@pytest.mark.parametrize(
    ("state", "question", "sentence"),
    [
        (GenerationState.RUNNING, QUEUED, "There is no answer yet. Its question is waiting."),
        (GenerationState.RUNNING, RUNNING, "There is no answer yet. Its question is being asked."),
        (GenerationState.RUNNING, HELD, "There is no answer yet. Its question is held."),
        (GenerationState.PAUSED, QUEUED, "There is no answer yet. Its question is waiting for the run to go on."),
        (GenerationState.HELD, QUEUED, "There is no answer yet. Its question is waiting for the run to go on."),
        (GenerationState.CANCELLED, QUEUED, "The run was cancelled before the model was asked: there is no answer."),
    ],
)
def test_the_page_of_a_missing_answer_gives_the_reason(
    as_alice: Client, alice: User, state: str, question: str, sentence: str
) -> None:
    run = endpoint_run(alice, question, state=state)
    if state == GenerationState.CANCELLED:
        Generation.objects.update(state=GenerationState.RUNNING)
        cancelled(run, alice)
    text = words_of(as_alice.get(requests(run)[0].implementation.get_absolute_url()))
    assert f"{sentence} Judges" in text
    assert ("The bundle" in text, "counts as failed" in text) == (False, False)


def test_the_page_of_a_stopped_answer_links_its_calls(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, RUNNING)
    [request] = requests(run)
    called(request)
    cancelled(run, alice)
    response = as_alice.get(request.implementation.get_absolute_url())
    sentence = "The run was cancelled while the model was asked: there is no answer."
    assert (sentence in words_of(response), "/calls/" in response.content.decode()) == (True, True)


def test_a_task_outside_a_scored_run_counts_as_failed(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, DONE, state=GenerationState.DONE)
    left_out = requests(run)[1]
    left_out.delete()
    where = left_out.implementation.get_absolute_url()
    sentence = "This task is not part of this run."
    assert f"{sentence} Judges" in words_of(as_alice.get(where))
    rows = Program(alice).get(f"/submissions/{run.submission_id}/answers")["items"]
    assert [row["state"] for row in rows] == ["answered", "not asked: no part of this run"]
    Submission.objects.update(state=SubmissionState.SCORED)
    assert f"{sentence} It counts as failed. Judges" in words_of(as_alice.get(where))


@pytest.mark.parametrize("state", [GenerationState.PAUSED, GenerationState.HELD])
def test_requests_of_a_stopped_run_wait_until_it_continues(as_alice: Client, alice: User, state: str) -> None:
    run = endpoint_run(alice, DONE, QUEUED, HELD, state=state)
    AnswerRequest.objects.filter(state=QUEUED).update(not_before=timezone.now() + timedelta(hours=5))
    text = words_of(part(as_alice, run))
    assert [text.count(each) for each in ("waiting for the run to go on", "until", "waiting")] == [1, 0, 1]


@pytest.mark.parametrize(
    ("facts", "state", "advice"),
    [
        (
            {"run_tokens": 1500, "reason": PAUSED_BY_HAND},
            "paused",
            "The limit of 1,500 tokens is reached. Raise it, then",
        ),
        ({"run_seconds": 0, "reason": "Refused."}, "paused", "The limit of 0 s is reached. Raise it, then resume."),
        ({"run_tokens": 1500, "reason": "The run reached its limit of 1,500 tokens."}, "paused", ""),
        ({"reason": "The provider refused the key."}, "paused", "If the key is wrong or missing, store it again"),
        ({"reason": "It broke."}, "held", "Test the connection , then resume."),
        ({"reason": PAUSED_BY_HAND}, "paused", "Resume the run to send the remaining tasks."),
    ],
)
def test_the_advice_fits_the_reason(
    as_alice: Client, alice: User, facts: dict[str, Any], state: str, advice: str
) -> None:
    run = endpoint_run(alice, DONE, QUEUED, state=state, **facts)
    called(requests(run)[0])
    shown = part(as_alice, run)
    text = words_of(shown)
    known = ("The limit of", "If the key is wrong", "Test the connection", "Resume the run")
    assert [each in text for each in known] == [bool(advice) and advice.startswith(each) for each in known]
    assert advice in text
    assert (run.reason in text) is (run.reason != PAUSED_BY_HAND)
    assert " Resume " in text
    assert "<pre" not in shown.content.decode()
    Endpoint.objects.all().delete()
    assert "Its endpoint was deleted" in words_of(part(as_alice, run))


def test_expected_usage_is_shown_apart_from_estimated_usage(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, QUEUED, estimate={"input_tokens": 9000, "output_tokens": 800}, run_tokens=10_000)
    called(requests(run)[0], input_tokens=None, output_tokens=None, dollars=None, estimated_tokens=2000)
    text = words_of(part(as_alice, run))
    assert "Tokens 2,000 (estimated) of 10,000" in text
    assert "Estimate before the start at most 9,000 in, 800 out" in text


class TestApi:
    def test_a_run_that_can_continue_has_not_ended(self, alice: User) -> None:
        for state, ended in (("running", False), ("paused", False), ("held", False), ("done", True)):
            run = endpoint_run(alice, QUEUED, state=state, ended=timezone.now())
            shown = Program(alice).get(f"/submissions/{run.submission_id}/run")
            assert (shown["state"], shown["ended"] is not None) == (state, ended)

    @pytest.mark.parametrize("is_cancelled", [False, True])
    def test_both_totals_count_requests(self, alice: User, is_cancelled: bool) -> None:
        run = endpoint_run(alice, DONE, QUEUED, QUEUED)
        Implementation.objects.filter(request=requests(run)[0]).update(attempted=True)
        with_answers(run.submission, 1, attempted=False)  # a task outside the run
        if is_cancelled:
            cancelled(run, alice)
        progress = Program(alice).get(f"/submissions/{run.submission_id}")["progress"]
        assert progress == {"done": 0, "running": 0, "held": 0, "total": 3, "passed": 0}
        assert Program(alice).get(f"/submissions/{run.submission_id}/run")["total"] == 3

    @pytest.mark.parametrize(
        ("state", "submission", "waits"),
        [
            ("running", SubmissionState.GENERATING, "waiting"),
            ("paused", SubmissionState.GENERATING, "waiting for the run to go on"),
            ("held", SubmissionState.HELD, "waiting for the run to go on"),
        ],
    )
    def test_answers_of_an_open_run_have_their_question_s_state(
        self, as_alice: Client, alice: User, state: str, submission: str, waits: str
    ) -> None:
        run = endpoint_run(alice, DONE, RUNNING, QUEUED, HELD, state=state)
        Implementation.objects.filter(request=requests(run)[0]).update(attempted=True)
        Submission.objects.update(state=submission)
        listed = Program(alice).get(f"/submissions/{run.submission_id}/answers")["items"]
        assert [each["state"] for each in listed] == ["waiting", "being asked", waits, "held"]
        # The page shows these answers in the run's table instead.
        assert 'aria-label="Answers by task"' not in as_alice.get(run.submission.get_absolute_url()).content.decode()

    def test_one_answer_is_described_as_in_the_list(self, alice: User) -> None:
        run = cancelled(endpoint_run(alice, QUEUED), alice)
        [listed] = Program(alice).get(f"/submissions/{run.submission_id}/answers")["items"]
        assert listed["state"] == "not asked: the run was cancelled"
        where = f"/submissions/{run.submission_id}/answers/{listed['task']}/{listed['trial']}"
        assert Program(alice).get(where)["state"] == listed["state"]


@pytest.mark.parametrize("outcome", ["", "not_attempted", "passed"])
def test_a_cancelled_submission_names_an_evaluator_only_if_it_measured(
    as_alice: Client, alice: User, outcome: str
) -> None:
    submission = SubmissionFactory(owner=alice, state=SubmissionState.RUNNING, environment_digest="sha256:" + "ab" * 32)
    [answer] = with_answers(submission, 1)
    TestRunFactory(implementation=answer, **({"done": outcome} if outcome else {"running": True}))
    assert "Measured with evaluator 1" in words_of(as_alice.get(submission.get_absolute_url()))
    Submission.objects.update(state=SubmissionState.CANCELLED)
    TestRun.objects.exclude(state=RunState.DONE).update(state=RunState.CANCELLED, token=None)
    text = words_of(as_alice.get(submission.get_absolute_url()))
    assert ("Measured with evaluator 1" in text, "Measured with" in text) == (outcome == "passed",) * 2
    shown = Program(alice).get(f"/submissions/{submission.pk}")
    assert (bool(shown["evaluators"]), bool(shown["environments"])) == (outcome == "passed",) * 2
