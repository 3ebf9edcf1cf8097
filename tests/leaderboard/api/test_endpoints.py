"""Runs on endpoints through the API: the estimate, the start that needs it, progress, pausing and resuming."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from evaluator.enums import GenerationState, WorkState
from evaluator.models import Generation
from submissions.domain import endpoints
from submissions.models import Endpoint, Submission
from tests.leaderboard.api.program import Program
from tests.leaderboard.endpoint_runs import called, endpoint_run
from tests.submissions.endpoints.factories import DESCRIBED, KEY

if TYPE_CHECKING:
    from benchmark_tasks.models import SuiteVersion
    from submissions.models import User

pytestmark = pytest.mark.django_db

ORDER: dict[str, Any] = {"suite": "small", "inputs": "paper_only", "trials": 2, "tasks": ["01-Alpha/1"]}


@pytest.fixture
def endpoint(alice: User) -> Endpoint:
    """Alice's endpoint, with prices and a key."""
    described = {**DESCRIBED, "price_input": Decimal(2), "price_output": Decimal(8), "run_tokens": 500_000}
    return endpoints.add(owner=alice, described=described, key=KEY)


def test_endpoints_are_shown_to_their_owner_only_and_without_keys(
    endpoint: Endpoint, alice: User, maintainer: User
) -> None:
    response = Program(alice).send("GET", f"/endpoints/{endpoint.pk}")
    shown = response.json()
    assert (shown["name"], shown["has_key"], shown["price_input"], shown["open_runs"]) == ("Alpha", True, "2.0000", [])
    assert KEY not in response.content.decode()
    assert endpoint.sealed_key not in response.content.decode()
    assert [each["id"] for each in Program(alice).get("/endpoints")["items"]] == [endpoint.pk]
    assert Program(maintainer).get("/endpoints")["items"] == []
    assert Program(maintainer).problem("GET", f"/endpoints/{endpoint.pk}")["status"] == 404


def test_a_run_starts_as_it_was_estimated(small: SuiteVersion, endpoint: Endpoint, alice: User) -> None:
    program, address = Program(alice, "endpoints"), f"/endpoints/{endpoint.pk}"
    estimate = program.post(f"{address}/estimate", ORDER)
    (row,) = estimate["rows"]
    assert (row["task"], row["problem"], estimate["input_tokens"]) == ("alpha/1", "", row["input_tokens"])
    assert Decimal(estimate["dollars"]) > 0
    assert Submission.objects.count() == 0
    changed = program.problem("POST", f"{address}/runs", {**ORDER, "trials": 3, "estimate": estimate["estimate"]})
    assert (changed["status"], changed["type"]) == (409, "/docs/api/#wrong-state")
    made = program.post(f"{address}/runs", {**ORDER, "estimate": estimate["estimate"]}, status=201)
    run = Generation.objects.get()
    assert (made["submission"], run.endpoint, run.inputs) == (run.submission_id, endpoint, "paper_only")
    assert (run.run_tokens, run.run_seconds, run.estimate["input_tokens"]) == (500_000, 21600, estimate["input_tokens"])
    assert (run.submission.system.name, run.submission.trials, run.requests.count()) == ("alpha-2-2026-01", 2, 2)


def test_wrong_orders_are_refused_by_the_page_s_form(small: SuiteVersion, endpoint: Endpoint, alice: User) -> None:
    program, address = Program(alice), f"/endpoints/{endpoint.pk}/estimate"
    problem = program.problem("POST", address, {**ORDER, "trials": 99, "tasks": ["alpha/9"], "run_seconds": 1})
    assert [each["field"] for each in problem["errors"]] == ["run_seconds", "trials", "tasks"]
    assert program.problem("POST", address, {**ORDER, "suite": "none"})["status"] == 404
    assert program.problem("POST", address, {**ORDER, "publish_licence": "GPL"})["status"] == 422


def test_progress_has_limits_and_cost(alice: User, bob: User) -> None:
    run = endpoint_run(alice, WorkState.DONE, WorkState.QUEUED, run_tokens=9000)
    called(run.requests.order_by("pk")[0])
    address = f"/submissions/{run.submission_id}/run"
    progress = Program(alice).get(address)
    assert [progress[name] for name in ("state", "answered", "total", "code", "calls")] == ["running", 1, 2, 1, 1]
    assert (progress["input_tokens"], progress["output_tokens"], progress["dollars"], progress["run_tokens"]) == (
        *(1200, 300),
        *("0.004800", 9000),
    )
    assert Program(bob).problem("GET", address)["status"] == 404


def test_values_that_a_provider_does_not_report_are_null(small: SuiteVersion, endpoint: Endpoint, alice: User) -> None:
    program, address = Program(alice, "endpoints"), f"/endpoints/{endpoint.pk}"
    for reports, by_estimate in ((None, False), (True, False), (False, True)):
        Endpoint.objects.update(reports_usage=reports)
        assert Program(alice).get(address)["reports_usage"] is reports
        assert program.post(f"{address}/estimate", ORDER)["limits_by_estimate"] is by_estimate
    run = endpoint_run(alice, WorkState.DONE)
    unknown: dict[str, Any] = {"input_tokens": None, "output_tokens": None, "dollars": None}
    call = called(run.requests.get(), **unknown, estimated_tokens=2000, estimated_dollars=Decimal(1))
    submission = f"/submissions/{run.submission_id}"
    for found in (Program(alice).get(f"{submission}/run"), Program(alice).get(f"{submission}/calls/{call.pk}")):
        assert {name: found[name] for name in unknown} == unknown


def test_pausing_and_resuming(alice: User, maintainer: User) -> None:
    run = endpoint_run(alice, WorkState.QUEUED, run_tokens=9000)
    program, address = Program(alice, "endpoints"), f"/submissions/{run.submission_id}/run"
    assert program.post(f"{address}/pause")["state"] == GenerationState.PAUSED
    assert program.problem("POST", f"{address}/pause")["status"] == 409
    assert program.problem("POST", f"{address}/resume", {"run_tokens": 1})["errors"][0]["field"] == "run_tokens"
    denied = Program(maintainer, "endpoints").problem("POST", f"{address}/resume", {"run_tokens": 10_000})
    assert (denied["status"], denied["type"]) == (403, "/docs/api/#not-allowed")
    resumed = program.post(f"{address}/resume", {"run_tokens": 10_000})
    assert (resumed["state"], resumed["run_tokens"], resumed["run_seconds"]) == ("running", 10_000, run.run_seconds)
    run.refresh_from_db()
    assert run.run_tokens == 10_000


def test_an_uploaded_submission_has_no_run(alice: User) -> None:
    from tests.submissions.factories import SubmissionFactory

    submission = SubmissionFactory(owner=alice)
    assert Program(alice).problem("GET", f"/submissions/{submission.pk}/run")["status"] == 404
