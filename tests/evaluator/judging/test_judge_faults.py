"""Errors of providers, keys and this site while judging: the judgement waits or is held, and gets no label."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connections
from django.utils import timezone

from evaluator.enums import CallPurpose, CallState, WorkState
from evaluator.judging import judge_budget, judgements
from evaluator.judging.judge_budget import BudgetSpentError
from evaluator.models import Judgement, ModelCall
from evaluator.queue import leases
from submissions.exceptions import NotAllowedError
from submissions.models import Endpoint
from tests.evaluator.judging.site import GOLDEN, WRONG, judge, judged, submission, verdict
from tests.evaluator.processes import wait_until
from tests.provider_server.types import Answer, Failure
from tests.submissions.factories import UserFactory

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)


def test_errors_of_a_provider_are_retried_and_then_hold_the_judgement(
    provider: ProviderServer, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.providers.calling.FIRST_PAUSE_SECONDS", 0.0)
    provider.script("flaky", Failure("down", "Broken."))
    config = judge(provider, "flaky", votes=1, votes_when_split=1)
    judgements.plan_judgements(config=config, submission_id=submission(small_version, WRONG).pk)
    states = []
    for _ in range(4):
        row = judgements.judge_next()
        states.append(row and (row.state, row.infra_count))
    assert states == [(WorkState.QUEUED, 1), (WorkState.QUEUED, 2), (WorkState.HELD, 3), None]
    held = Judgement.objects.get()
    assert held.reason
    assert (held.label, held.abstained) == ("", False)
    with pytest.raises(NotAllowedError):
        judgements.retry_held(actor=UserFactory())
    provider.script("flaky", Answer(verdict("LI")))
    assert judgements.retry_held(actor=UserFactory(is_staff=True), config=config) == 1
    row = judgements.judge_next()
    assert row is not None
    assert (row.state, row.label, row.infra_count, row.reason) == (WorkState.DONE, "LI", 0, "")


@pytest.mark.parametrize(
    ("broken", "reason", "request_count"),
    [("key", "key", 1), ("endpoint", "endpoint was deleted", 0), ("prompt", "Make a new judge", 0)],
)
def test_an_error_that_a_maintainer_must_fix_holds_at_once_with_the_reason(
    provider: ProviderServer,
    small_version: SuiteVersion,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
    reason: str,
    request_count: int,
) -> None:
    config = judge(provider, "wrong-key" if broken == "key" else "judge-honest")
    if broken == "endpoint":
        Endpoint.objects.all().delete()
        config.refresh_from_db()
    elif broken == "prompt":
        monkeypatch.setattr("evaluator.judging.configs.PROMPT_HASH", "0" * 64)
    (row,) = judged(small_version, config, WRONG)
    assert (row.state, row.label, len(provider.requests)) == (WorkState.HELD, "", request_count)
    assert reason in row.reason


def test_a_judgement_whose_answer_was_lost_twice_is_held_until_a_maintainer_retries_it(
    provider: ProviderServer, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.providers.calling.FIRST_PAUSE_SECONDS", 0.0)
    (row,) = judged(small_version, judge(provider, "breaks", votes=1, votes_when_split=1), WRONG)
    assert row.state == WorkState.HELD
    assert len(provider.requests) == 2
    assert [call.state for call in ModelCall.objects.all()] == [CallState.IN_DOUBT] * 2
    assert judgements.retry_held(actor=UserFactory(is_staff=True), submission=row.implementation.submission) == 1
    assert [call.state for call in ModelCall.objects.all()] == [CallState.FAILED] * 2
    assert judgements.judge_next() is not None
    assert len(provider.requests) == 4


def test_a_request_whose_worker_was_killed_is_in_doubt_and_sent_once_more(
    provider: ProviderServer, small_version: SuiteVersion
) -> None:
    config = judge(provider, "judge-honest+slow-3", votes=1, votes_when_split=1)
    judgements.plan_judgements(config=config, submission_id=submission(small_version, WRONG).pk)
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            judgements.judge_next()
        finally:
            os._exit(0)
    wait_until(lambda: len(provider.requests) == 1, "the request to arrive")
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert [call.state for call in ModelCall.objects.all()] == [CallState.SENDING]
    Judgement.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert len(leases.expire(Judgement)) == 1
    row = judgements.judge_next()
    assert row is not None
    assert (row.state, row.label) == (WorkState.DONE, "LI")
    assert [call.state for call in ModelCall.objects.order_by("pk")] == [CallState.IN_DOUBT, *[CallState.ANSWERED] * 2]
    # The vote was requested twice, and the vote on the code without its docstring once.
    assert len(provider.requests) == 3


def test_no_request_is_sent_while_an_endpoint_is_full_or_must_wait(
    provider: ProviderServer, small_version: SuiteVersion
) -> None:
    config = judge(provider, requests_at_once=1)
    judgements.plan_judgements(config=config, submission_id=submission(small_version, WRONG, GOLDEN).pk)
    first = Judgement.objects.order_by("pk")[0]
    Judgement.objects.filter(pk=first.pk).update(state=WorkState.RUNNING)
    assert judgements.judge_next() is None
    Judgement.objects.filter(pk=first.pk).update(state=WorkState.QUEUED)
    Endpoint.objects.update(not_before=timezone.now() + timedelta(minutes=1))
    assert judgements.judge_next() is None
    Endpoint.objects.update(not_before=timezone.now() - timedelta(minutes=1))
    assert judgements.judge_next() is not None


def test_a_wait_that_a_provider_requests_is_observed(provider: ProviderServer, small_version: SuiteVersion) -> None:
    provider.script("busy", Failure("busy", "Slow down.", headers={"Retry-After": "60"}))
    (row,) = judged(small_version, judge(provider, "busy"), WRONG)
    assert (row.state, row.infra_count) == (WorkState.QUEUED, 0)
    assert row.not_before is not None
    assert 50 < (row.not_before - timezone.now()).total_seconds() <= 60
    assert row.reason


def test_an_infrastructure_error_is_retried_and_then_held(
    provider: ProviderServer, small_version: SuiteVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(judgements, "_decide", breaks)
    (row,) = judged(small_version, judge(provider), WRONG)
    assert (row.state, row.infra_count, row.reason) == (WorkState.HELD, 3, "an infrastructure error of this site")


def limits(settings: Any, *, dollars: float = 10.0, tokens: int = 1_000_000) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, judge_daily_dollars=dollars, judge_daily_tokens=tokens)


def call(purpose: CallPurpose, *, dollars: str | None, started: datetime | None = None, tokens: int = 100) -> None:
    made = ModelCall.objects.create(
        purpose=purpose,
        key=f"{ModelCall.objects.count():064}",
        state=CallState.ANSWERED,
        request={},
        input_tokens=tokens,
        output_tokens=2 * tokens,
        dollars=dollars,
    )
    if started is not None:
        ModelCall.objects.filter(pk=made.pk).update(started=started)


def test_only_today_s_calls_of_judges_count(settings: Any) -> None:
    limits(settings, dollars=2.5, tokens=1000)
    call(CallPurpose.JUDGE, dollars="0.5")
    call(CallPurpose.HEALTH, dollars="0.25")
    call(CallPurpose.JUDGE, dollars=None)
    call(CallPurpose.ANSWER, dollars="7")
    call(CallPurpose.JUDGE, dollars="7", started=timezone.now() - timedelta(days=1))
    budget = judge_budget.today()
    assert (budget.dollars_left, budget.tokens_left) == (Decimal("1.75"), 100)
    judge_budget.require_some_left()


@pytest.mark.parametrize(
    ("dollars", "tokens", "what"),
    [(0.5, 1000, r"\$0.5 \(JUDGE_DAILY_DOLLARS\)"), (1.0, 300, r"300 tokens \(JUDGE_DAILY_TOKENS\)")],
)
def test_a_spent_budget_is_reported_with_the_setting_and_the_time(
    settings: Any, dollars: float, tokens: int, what: str
) -> None:
    limits(settings, dollars=dollars, tokens=tokens)
    call(CallPurpose.JUDGE, dollars="0.5")
    with pytest.raises(BudgetSpentError, match=what) as spent:
        judge_budget.require_some_left()
    assert spent.value.until == judge_budget.tomorrow()
    assert judge_budget.today().dollars_left >= 0


def test_judging_waits_until_tomorrow_and_keeps_the_votes_already_paid(
    provider: ProviderServer, small_version: SuiteVersion, settings: Any
) -> None:
    limits(settings, tokens=1)
    judgements.plan_judgements(config=judge(provider), submission_id=submission(small_version, WRONG).pk)
    row = judgements.judge_next()
    assert row is not None
    assert (row.state, row.not_before, row.votes.count()) == (WorkState.QUEUED, judge_budget.tomorrow(), 1)
    assert "JUDGE_DAILY_TOKENS" in row.reason
    assert judgements.judge_next() is None
    limits(settings)
    assert judgements.wake() == 1
    row = judgements.judge_next()
    assert row is not None
    assert (row.state, row.label) == (WorkState.DONE, "LI")
    assert len(provider.requests) == 4
