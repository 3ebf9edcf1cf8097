"""A run on its submission's page: progress, limits, pausing and resuming, and the run's calls."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluator.enums import AnswerTaken, CallState, GenerationState, WorkState
from evaluator.models import AnswerRequest, Generation
from submissions.enums import Visibility
from submissions.models import Submission
from tests.leaderboard.endpoint_runs import CHAT_REQUEST, PROMPT, REPLY, called, endpoint_run
from tests.leaderboard.showing import address_of, words_of
from tests.submissions.factories import UserFactory

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


def part(client: Client, run: Generation, **query: str) -> Any:
    return client.get(reverse("generation_progress", args=[run.submission_id]), query)


def requests(run: Generation) -> list[AnswerRequest]:
    return list(run.requests.order_by("pk"))


def post(client: Client, action: str, run: Generation, **typed: str) -> Any:
    return client.post(reverse(action, args=[run.submission_id]), typed)


def test_progress_shows_answers_and_usage(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, DONE, RUNNING, QUEUED, run_tokens=10_000, run_dollars=Decimal(1))
    for request in requests(run)[:2]:
        called(request)
    text = words_of(part(as_alice, run))
    assert "2 of 4 answered, 1 in progress" in text
    assert "Tokens 3,000 of 10,000" in text
    assert "US $ 0.0096 of 1.00" in text
    assert "Calls 2 " in text
    meters = part(as_alice, run).context["meters"]
    assert [(meter.label, meter.percent) for meter in meters[:2]] == [("Tokens", 30.0), ("US $", 0.96)]


def test_the_time_meter_omits_time_spent_paused(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, QUEUED, run_seconds=3600, stood_still_seconds=7200)
    Generation.objects.update(created=timezone.now() - timedelta(hours=2, minutes=30))
    assert "Time 30 min of 1 h" in words_of(part(as_alice, run))


UNREPORTED: dict[str, Any] = {
    "input_tokens": None, "output_tokens": None, "dollars": None,
    "estimated_tokens": 2000, "estimated_dollars": Decimal("0.01"),
}  # fmt: skip


def test_unreported_usage_is_unknown_and_estimated_for_limits(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, DONE, run_tokens=10_000, run_dollars=Decimal(1))
    for request, facts in zip(requests(run), ({}, UNREPORTED), strict=True):
        called(request, **facts)
    response = part(as_alice, run)
    assert "Tokens 3,500 (estimated) of 10,000" in words_of(response)
    assert "US $ 0.0148 (estimated) of 1.00" in words_of(response)
    assert re.findall(r"1 call ([\d,–]+) ([\d.–]+)", words_of(response)) == [("1,500", "0.0048"), ("–", "–")]
    Generation.objects.update(state=GenerationState.DONE)
    assert "Tokens not reported by the provider US $ not reported by the provider Time" in words_of(part(as_alice, run))
    second = requests(run)[1].implementation
    listed = words_of(as_alice.get(address_of(second, "answer_calls")))
    assert "answered – – –" in listed
    assert "Tokens – in, – out" in words_of(
        as_alice.get(f"{run.submission.get_absolute_url()}calls/{second.request.calls.get().pk}/")
    )


def test_a_running_run_is_polled_and_answers_changes_only(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, RUNNING, QUEUED)
    shown = part(as_alice, run)
    seen = shown.context["seen"]
    assert f'hx-get="/submissions/{run.submission_id}/asking/?seen={seen}"' in shown.content.decode()
    assert part(as_alice, run, seen=seen).status_code == 204
    called(requests(run)[0])
    news = part(as_alice, run, seen=seen)
    assert news.status_code == 200
    Generation.objects.update(state=GenerationState.DONE)
    ended = part(as_alice, run, seen=seen)
    assert (ended.status_code, "hx-get" in ended.content.decode()) == (200, False)
    # A page that reloads would lose a click made meanwhile; its other parts are polled separately.
    assert ["HX-Refresh" in response for response in (news, ended)] == [False, False]


def test_a_paused_run_resumes_with_higher_limits(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, QUEUED, run_tokens=5000)
    assert post(as_alice, "generation_pause", run)["Location"] == run.submission.get_absolute_url()
    run.refresh_from_db()
    text = words_of(part(as_alice, run))
    assert run.state == GenerationState.PAUSED
    assert "Paused. The answers so far are stored. Resume the run to send the remaining tasks." in text
    states = re.findall(
        r'<span class="state [^>]*>(\w+)<', as_alice.get(run.submission.get_absolute_url()).content.decode()
    )
    assert states == ["paused"], "Result names no second state"
    post(as_alice, "generation_resume", run, run_tokens="9000", run_seconds="7200")
    run.refresh_from_db()
    assert (run.state, run.run_tokens, run.run_seconds) == (GenerationState.RUNNING, 9000, 7200)


def test_pause_and_cancel_are_side_by_side_while_a_run_is_open(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, QUEUED)
    for page in (part(as_alice, run), as_alice.get(run.submission.get_absolute_url())):
        actions = page.content.decode().partition('class="run-actions"')[2].partition("</div>\n")[0]
        assert (actions.count("Pause"), page.content.decode().count('id="cancel"')) == (1, 1)
        assert re.search(r"/pause/.*/cancel/#cancel", actions, re.DOTALL)
    post(as_alice, "generation_pause", run)
    page = as_alice.get(run.submission.get_absolute_url()).content.decode()
    assert ("/pause/" in page, page.count('id="resume"'), page.count('id="cancel"')) == (False, 1, 1)


def test_others_cannot_see_or_change_a_private_run(client: Client, alice: User) -> None:
    run = endpoint_run(alice, QUEUED, reason="alice's secret reason")
    call = called(requests(run)[0])
    own = endpoint_run(UserFactory(), DONE, state=GenerationState.DONE)
    Submission.objects.filter(pk=own.submission_id).update(visibility=Visibility.PUBLISHED, code_licence="MIT")
    pages = [
        reverse("model_call", args=[own.submission_id, call.pk]),
        reverse("generation_progress", args=[run.submission_id]),
        address_of(requests(run)[0].implementation, "answer_calls"),
        reverse("model_call", args=[run.submission_id, call.pk]),
        reverse("model_call", args=[run.submission_id, call.pk]) + "?raw=request",
    ]
    for user in (None, UserFactory()):
        if user:
            client.force_login(user)
        assert [client.get(page).status_code for page in pages] == [404] * 5
        for action in ("generation_pause", "generation_resume"):
            assert post(client, action, run, run_seconds="7200").status_code == (404 if user else 302)
    run.refresh_from_db()
    assert run.state == GenerationState.RUNNING
    client.force_login(UserFactory(is_staff=True))
    assert [client.get(page).status_code for page in pages] == [404, *[200] * 4]


def test_calls_are_hidden_where_the_code_is(client: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE)
    call = called(requests(run)[0])
    Submission.objects.filter(pk=run.submission_id).update(visibility=Visibility.PUBLISHED, code_licence="")
    address = address_of(requests(run)[0].implementation, "answer_calls")
    assert address not in part(client, run).content.decode()
    for page in (address, reverse("model_call", args=[run.submission_id, call.pk])):
        assert client.get(page).status_code == 404
    client.force_login(alice)
    assert address in part(client, run).content.decode()
    assert client.get(address).status_code == 200


def test_a_call_shows_its_request_and_response(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE)
    first, second = called(requests(run)[0], key="a"), called(requests(run)[0], key="b")
    response = as_alice.get(reverse("model_call", args=[run.submission_id, first.pk]))
    assert [(turn.role, turn.text) for turn in response.context["sent"]] == [
        ("system", "You write code."), ("user", PROMPT),
    ]  # fmt: skip
    assert [(turn.role, turn.text) for turn in response.context["reply"]] == [("assistant", REPLY)]
    following = reverse("model_call", args=[run.submission_id, second.pk])
    page = response.content.decode()
    assert (f'href="{following}" rel="next"' in page, 'rel="prev"' in page) == (True, False)
    assert "1,200 in, 300 out; US $ 0.0048" in words_of(response)


def test_a_hostile_server_s_response_is_escaped(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE)
    evil = "<script>alert(1)</script>"
    call = called(requests(run)[0], response={"content": evil, "x": [evil] * 3}, returned_model=evil)
    where = reverse("model_call", args=[run.submission_id, call.pk])
    assert evil not in as_alice.get(where).content.decode()
    raw = as_alice.get(where, {"raw": "response"})
    assert (raw["Content-Type"], raw["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")
    assert raw["Content-Disposition"] == f'attachment; filename="call-{call.pk}-response.json"'
    assert json.loads(raw.content) == call.response
    assert json.loads(as_alice.get(where, {"raw": "request"}).content) == CHAT_REQUEST


def test_each_task_shows_its_result_and_notes(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE, DONE, HELD, QUEUED)
    first, second, third, _ = requests(run)
    AnswerRequest.objects.filter(pk=first.pk).update(note="Took the only block.", cuts=[{"part": "references"}])
    AnswerRequest.objects.filter(pk=second.pk).update(taken=AnswerTaken.REFUSED, note="It said no.")
    AnswerRequest.objects.filter(pk=third.pk).update(reason="The answer was lost twice.")
    text = words_of(part(as_alice, run))
    assert "Took the only block. Left out of the prompt: references." in text
    assert "refused It said no." in text
    assert "The answer was lost twice." in text


def test_omitted_parts_are_listed_by_kind_with_each_reason_once(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE)
    [request] = requests(run)
    why = "The prompt would not fit the model's context."
    cuts = [{"part": f"section of the paper: {name}", "tokens": 1200, "why": why} for name in "ABCDEFGHI"]
    cuts.append({"part": "file: a/b.py", "tokens": 30, "why": why})
    cuts.append({"part": "the paper", "tokens": 0, "why": "It is not available here."})
    AnswerRequest.objects.filter(pk=request.pk).update(cuts=cuts)
    summary = "Left out of the prompt: sections of the paper: A, B, C, D, E, F and 3 more; files: a/b.py; the paper."
    assert summary in words_of(part(as_alice, run))
    task = request.implementation.revision.task
    where = reverse("answer_calls", args=[run.submission.pk, task.paper.slug, task.index, request.implementation.trial])
    sections = ", ".join(f"{name} (1,200 tokens)" for name in "ABCDEFGHI")
    page = words_of(as_alice.get(where))
    assert (
        f"Left out of the prompt Sections of the paper: {sections}; files: a/b.py (30 tokens). "
        "The prompt would not fit the model's context. The paper. It is not available here."
    ) in page


def test_invalid_limits_are_reported_and_stay_in_the_form(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, QUEUED, state=GenerationState.PAUSED)
    response = post(as_alice, "generation_resume", run, run_tokens="7", run_seconds="7200")
    assert (response.status_code, 'value="7"' in response.content.decode()) == (422, True)
    assert "greater than or equal to 1000" in words_of(response)
    run.refresh_from_db()
    assert run.state == GenerationState.PAUSED


def test_calls_in_doubt_are_marked(as_alice: Client, alice: User) -> None:
    run = endpoint_run(alice, DONE)
    request = requests(run)[0]
    called(request, key="k", state=CallState.IN_DOUBT, message="The connection broke.")
    called(request, key="k", number=2)
    called(request, key="other", state=CallState.IN_DOUBT)
    text = words_of(as_alice.get(address_of(request.implementation, "answer_calls")))
    assert "Call 1 in doubt, repeated once The connection broke." in text
    assert "Call 2 retry 1 answered" in text
    assert "Call 3 in doubt, not repeated" in text
