"""The day's budget: what counts, and what happens when it is spent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from evaluator.enums import CallPurpose, CallState, WorkState
from evaluator.judging import judge_budget, judgements
from evaluator.judging.judge_budget import BudgetSpentError
from evaluator.models import Judgement, ModelCall
from tests.evaluator.judging.site import WRONG, judge, submission

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_today_s_calls_of_judges_count_and_no_others(settings: Any) -> None:
    limits(settings, dollars=2.5, tokens=1000)
    call(CallPurpose.JUDGE, dollars="0.5")
    call(CallPurpose.HEALTH, dollars="0.25")
    call(CallPurpose.JUDGE, dollars=None)
    call(CallPurpose.ANSWER, dollars="7")
    call(CallPurpose.JUDGE, dollars="7", started=timezone.now() - timedelta(days=1))
    budget = judge_budget.today()
    assert (budget.dollars, budget.tokens) == (Decimal("0.75"), 900)
    assert (budget.dollars_left, budget.tokens_left) == (Decimal("1.75"), 100)
    judge_budget.require_some_left()


@pytest.mark.parametrize(
    ("dollars", "tokens", "what"),
    [
        (0.5, 1000, r"\$0.5 \(JUDGE_DAILY_DOLLARS\)"),
        (0.1, 1000, r"\$0.1 \(JUDGE_DAILY_DOLLARS\)"),
        (1.0, 300, r"300 tokens \(JUDGE_DAILY_TOKENS\)"),
        (0.0, 1000, "JUDGE_DAILY_DOLLARS"),
    ],
)
def test_what_is_spent_is_said_with_the_setting_and_the_time(
    settings: Any, dollars: float, tokens: int, what: str
) -> None:
    limits(settings, dollars=dollars, tokens=tokens)
    call(CallPurpose.JUDGE, dollars="0.5")
    with pytest.raises(BudgetSpentError, match=what) as spent:
        judge_budget.require_some_left()
    assert spent.value.until == judge_budget.tomorrow()
    assert judge_budget.today().dollars_left >= 0


def test_the_next_day_begins_at_midnight_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 3, 31, 23, 59, tzinfo=UTC)
    monkeypatch.setattr("evaluator.judging.judge_budget.timezone.now", lambda: now)
    assert judge_budget.tomorrow() == datetime(2026, 4, 1, tzinfo=UTC)


def test_judging_waits_till_tomorrow_and_keeps_the_votes_that_were_paid(
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
    assert len(provider.asked) == 4


def test_what_was_answered_costs_nothing_and_needs_no_budget(
    provider: ProviderServer, small_version: SuiteVersion, settings: Any
) -> None:
    config = judge(provider)
    judgements.plan_judgements(config=config, submission_id=submission(small_version, WRONG).pk)
    assert judgements.judge_next() is not None
    limits(settings, tokens=0)
    judgements.plan_judgements(config=config, submission_id=submission(small_version, WRONG).pk)
    assert judgements.judge_next() is not None
    assert set(Judgement.objects.values_list("label", flat=True)) == {"LI"}
    assert len(provider.asked) == 4
