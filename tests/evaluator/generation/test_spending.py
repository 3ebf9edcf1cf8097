"""Providers that report no token usage: unknown numbers are reported as unknown, and limits use an estimate."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.enums import CallState, GenerationState
from evaluator.generation.asking import ask_next
from evaluator.generation.generating import progress
from evaluator.judging import judge_budget
from evaluator.models import ModelCall, Trajectory
from evaluator.providers.checking_endpoints import check
from evaluator.providers.spending import spent
from leaderboard.evidence.generations import question_rows
from submissions.enums import Scaffold
from submissions.models import Endpoint
from submissions.models.endpoints import cost_of
from tests.evaluator.judging.site import WRONG, endpoint, judge, judged
from tests.provider_server.chat import HALF_USED

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from evaluator.models import Generation
    from tests.evaluator.generation.conftest import StartRun
    from tests.provider_server.server import ProviderServer

pytestmark = pytest.mark.django_db(transaction=True)
PRICES: dict[str, Any] = {"price_input": 1, "price_output": 2}


@pytest.mark.parametrize(
    ("tokens", "prices", "cost"),
    [
        ((1_000_000, 500_000), (Decimal(2), Decimal(4)), Decimal(4)),
        ((1, 1), (None, Decimal(4)), None),
        ((None, 5), (Decimal(2), Decimal(4)), None),
        ((5, None), (Decimal(2), Decimal(4)), None),
        ((None, 500_000), (Decimal(0), Decimal(4)), Decimal(2)),
        ((None, None), (Decimal(0), Decimal(0)), Decimal(0)),
        ((None, None), (None, None), None),
    ],
)
def test_a_price_of_0_is_known_and_a_missing_price_is_not(tokens: Any, prices: Any, cost: Decimal | None) -> None:
    assert cost_of(*tokens, *prices) == cost


def run_once(start_run: StartRun, version: SuiteVersion, model: str, **order: Any) -> Generation:
    generation = start_run(version, model, tasks=["dpo/1"], endpoint=PRICES, **order)
    assert ask_next()
    generation.refresh_from_db()
    return generation


@pytest.mark.parametrize("scaffold", [Scaffold.NONE, Scaffold.AGENT])
def test_an_answer_without_usage_has_no_tokens_and_no_cost(
    lmr_mini: SuiteVersion, start_run: StartRun, real_sandbox: object, scaffold: str
) -> None:
    generation = run_once(
        start_run, lmr_mini, "uncounted-agent-solves" if scaffold == Scaffold.AGENT else "uncounted", scaffold=scaffold
    )
    answer = generation.requests.get().implementation
    assert (answer.tokens, set(answer.usage)) == (None, {"seconds"})
    used = progress(generation).used
    assert (used.input_tokens, used.output_tokens, used.tokens, used.dollars) == (None, None, None, None)
    assert used.limited_tokens > 1000
    assert Decimal("0.001") < used.limited_dollars < Decimal(1)
    trajectories = Trajectory.objects.values_list("input_tokens", "output_tokens", "dollars")
    assert list(trajectories) == ([(None, None, None)] if scaffold == Scaffold.AGENT else [])
    assert Endpoint.objects.get().limits_by_estimate


def test_one_reply_without_usage_makes_the_total_unknown(lmr_mini: SuiteVersion, start_run: StartRun) -> None:
    generation = run_once(start_run, lmr_mini, "right")
    known = progress(generation).used
    assert (known.estimated, known.limited_tokens, known.limited_dollars) == (False, known.tokens, known.dollars)
    assert generation.requests.get().implementation.tokens == known.tokens
    assert Endpoint.objects.get().reports_usage is True
    call = ModelCall.objects.get()
    ModelCall.objects.create(
        key="second", number=1, model="m", request={}, response={}, answer_request=call.answer_request, output_tokens=7,
        input_tokens=None, estimated_tokens=100, estimated_dollars=Decimal("0.5"),
    )  # fmt: skip
    used = spent(ModelCall.objects.all())
    assert (used.input_tokens, used.output_tokens, used.dollars) == (None, (call.output_tokens or 0) + 7, None)
    assert used.limited_tokens == (known.tokens or 0) + 107
    assert used.limited_dollars == (known.dollars or 0) + Decimal("0.5")


@pytest.mark.both_databases
@pytest.mark.parametrize("is_reported", [True, False])
def test_half_an_answer_that_ends_with_an_error_has_a_cost(
    lmr_mini: SuiteVersion, start_run: StartRun, is_reported: bool
) -> None:
    generation = run_once(start_run, lmr_mini, "half-1" if is_reported else "uncounted-half-1")
    failed: Any
    failed, right = ModelCall.objects.order_by("pk")
    assert (failed.state, right.state) == (CallState.FAILED, CallState.ANSWERED)
    assert failed.response["choices"][0]["error"]["message"] == "Upstream went away."
    used: Any = progress(generation).used
    row: Any = question_rows(generation).get()
    answer = generation.requests.get().implementation
    if is_reported:
        assert (failed.input_tokens, failed.output_tokens) == HALF_USED
        assert failed.dollars == cost_of(*HALF_USED, Decimal(1), Decimal(2))
        tokens, dollars = sum(HALF_USED) + sum_of(right), failed.dollars + (right.dollars or 0)
        assert (used.tokens, used.dollars, used.estimated) == (tokens, dollars, False)
        assert (row.tokens, round(row.dollars, 6)) == (tokens, dollars)
        assert (answer.tokens, answer.usage["cost_usd"]) == (tokens, float(dollars))
    else:
        assert (failed.input_tokens, failed.output_tokens, failed.dollars) == (None, None, None)
        assert failed.estimated_tokens > 100
        assert (used.tokens, used.dollars, row.tokens, row.dollars, answer.tokens) == (None,) * 5


def sum_of(call: ModelCall) -> int:
    return (call.input_tokens or 0) + (call.output_tokens or 0)


@pytest.mark.parametrize("limit", [{"run_tokens": 10}, {"run_dollars": Decimal("0.0001")}])
def test_a_limit_uses_the_estimate_and_its_reason_mentions_it(
    lmr_mini: SuiteVersion, start_run: StartRun, provider: ProviderServer, limit: dict[str, Any]
) -> None:
    generation = start_run(lmr_mini, "uncounted", endpoint=PRICES, tasks=["dpo/1", "rope/1"], **limit)
    assert [ask_next(), ask_next()] == [True, True]
    generation.refresh_from_db()
    assert (generation.state, len(provider.requests)) == (GenerationState.PAUSED, 1)
    assert "(by this site's estimate, since the provider reports no token usage). Raise that limit" in generation.reason


def test_a_price_of_0_costs_nothing_though_no_usage_is_reported(lmr_mini: SuiteVersion, start_run: StartRun) -> None:
    free = {"price_input": 0, "price_output": 0}
    generation = start_run(lmr_mini, "uncounted", tasks=["dpo/1"], endpoint=free)
    assert ask_next()
    answer = generation.requests.get().implementation
    assert (answer.tokens, answer.usage["cost_usd"]) == (None, 0.0)


def test_the_budget_of_judges_uses_the_estimate(provider: ProviderServer, small_version: SuiteVersion) -> None:
    full = judge_budget.today()
    (row,) = judged(small_version, judge(provider, "uncounted-judge-honest", **PRICES), WRONG)
    assert (row.label, row.dollars) == ("LI", None)
    assert not ModelCall.objects.exclude(input_tokens=None, output_tokens=None, dollars=None).exists()
    left = judge_budget.today()
    assert full.tokens_left - left.tokens_left == sum(ModelCall.objects.values_list("estimated_tokens", flat=True)) > 0
    assert left.dollars_left < full.dollars_left


@pytest.mark.parametrize(
    ("model", "reports", "text"),
    [("right", True, " tokens in, "), ("uncounted", False, "(the provider reports no token usage).")],
)
def test_the_test_of_an_endpoint_stores_whether_usage_is_reported(
    provider: ProviderServer, model: str, reports: bool, text: str
) -> None:
    tested = endpoint(provider, model, check_state="waiting")
    check(tested.pk)
    tested.refresh_from_db()
    assert (tested.check_state, tested.reports_usage) == ("ok", reports)
    assert text in tested.check_message
