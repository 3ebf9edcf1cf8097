"""Starting a run: the order, its estimate, and that only an estimated order is started."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.enums import AuditState
from benchmark_tasks.models import SuiteVersion, TaskRevision
from evaluator.generation.estimating import Estimate, EstimateRow
from evaluator.models import Generation
from submissions.domain import organisations
from submissions.enums import SubmissionState
from submissions.models import Endpoint, Submission
from tests.benchmark_tasks.factories import write_suite
from tests.leaderboard.showing import words_of
from tests.submissions.endpoints.factories import EndpointFactory
from tests.submissions.organisations import registered

if TYPE_CHECKING:
    from pathlib import Path

    from django.test import Client
    from pytest_django import Settings

    from submissions.models import User

pytestmark = pytest.mark.django_db
TYPED = {
    "suite": "small",
    "inputs": "full",
    "scaffold": "none",
    "trials": "2",
    "system": "Alpha alone",
    "organisation": "Alpha house",
    "notes": "A first try.",
    "run_tokens": "100000",
    "run_dollars": "2.5",
    "run_seconds": "7200",
}


@pytest.fixture(autouse=True)
def data_dir(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture(autouse=True)
def no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.generation.generating.push", lambda _count, _queue: None)


@pytest.fixture(autouse=True)
def orders(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replace the estimate and record its orders; other tests cover the counting of tokens."""
    seen: list[Any] = []

    def estimate(*, endpoint: Endpoint, order: Any) -> Estimate:
        seen.append(order)
        first = EstimateRow("alpha/1", 12_345, 8192, Decimal("0.0902"), cuts=2, without_paper=True)
        second = EstimateRow("alpha/2", 0, 0, None, problem="Its file does not fit.")
        return Estimate(rows=(first, second), dollars=Decimal("0.0902"), counted_with="a test's counter")

    monkeypatch.setattr("evaluator.generation.estimating.estimate", estimate)
    return seen


@pytest.fixture
def small(tmp_path: Path) -> SuiteVersion:
    """The suite ``small`` with the tasks ``alpha/1`` and ``alpha/2``."""
    import_suite(folder=write_suite(tmp_path / "suite"), slug="small")
    TaskRevision.objects.update(audit_state=AuditState.PASSED)
    return SuiteVersion.objects.select_related("suite").get(suite__slug="small")


@pytest.fixture
def endpoint(alice: User) -> Endpoint:
    made: Endpoint = EndpointFactory(owner=alice, price_input=2, price_output=8, run_tokens=500_000)
    return made


def page(endpoint: Endpoint) -> str:
    return reverse("run_new", args=[endpoint.pk])


def estimated(client: Client, endpoint: Endpoint, **changes: Any) -> str:
    """The signed estimate of the page, which the start sends back."""
    response = client.post(page(endpoint), {**TYPED, **changes})
    assert response.status_code == 200
    signed: str = response.context["signed"]
    assert f'<input type="hidden" name="estimate" value="{signed}">' in response.content.decode()
    return signed


def start(client: Client, endpoint: Endpoint, estimate: str, **changes: Any) -> Any:
    return client.post(page(endpoint), {**TYPED, "estimate": estimate, "start": "1", **changes})


@pytest.mark.parametrize(("state", "words"), [("none", "not tested"), ("failed", "does not answer")])
def test_a_connection_that_is_not_known_to_work_has_a_warning(
    as_alice: Client, endpoint: Endpoint, small: SuiteVersion, state: str, words: str
) -> None:
    Endpoint.objects.update(check_state=state)
    assert f"Connection: {words}. Test it first :" in words_of(as_alice.get(page(endpoint)))


def test_the_estimate_creates_no_submission(
    as_alice: Client, endpoint: Endpoint, small: SuiteVersion, orders: list[Any]
) -> None:
    response = as_alice.post(page(endpoint), {**TYPED, "tasks": ["alpha/1"], "scaffold": "agent"})
    text = words_of(response)
    assert "about US $ 0.09 12,345 tokens in, about 8,192 out" in text
    assert "alpha/1 12,345 8,192 0.0902 No paper: it is not available here. 2 parts left out: longer than" in text
    assert "Its file does not fit." in text
    assert "The agent’s first prompts, times a usual number of steps of a usual length." in text
    assert "Prompts are counted with a test's counter; the model’s own tokenizer may differ." in text
    assert not Submission.objects.exists()
    [order] = orders
    described = (order.version, order.inputs, order.scaffold, order.trials, tuple(order.tasks))
    assert described == (small, "full", "agent", 2, ("alpha/1",))
    assert 'value="Alpha alone"' in response.content.decode()


def test_a_registered_organisation_is_refused_at_its_field(
    as_alice: Client, alice: User, endpoint: Endpoint, small: SuiteVersion, orders: list[Any]
) -> None:
    lab = registered("Alpha house")
    response = as_alice.post(page(endpoint), TYPED)
    assert response.status_code == 422
    form = response.context["form"]
    assert list(form.errors) == ["organisation"]
    assert "'Alpha house' is a registered organisation" in form.errors["organisation"][0]
    assert (form["notes"].value(), orders) == ("A first try.", [])
    grant: dict[str, Any] = {"organisation": lab, "account": alice, "actor": lab.added_by, "reason": "Known."}
    organisations.grant(**grant)
    begun = estimated(as_alice, endpoint)
    organisations.end(**grant)
    assert start(as_alice, endpoint, begun).status_code == 422
    assert not Submission.objects.exists()
    organisations.grant(**grant)
    start(as_alice, endpoint, begun)
    assert Submission.objects.get().system.organisation_confirmed == "hand"


def test_starting_creates_the_estimated_run(as_alice: Client, endpoint: Endpoint, small: SuiteVersion) -> None:
    chosen = {"tasks": ["alpha/2"], "consent": "on", "licence": "MIT"}
    response = start(as_alice, endpoint, estimated(as_alice, endpoint, **chosen), **chosen)
    run = Generation.objects.select_related("submission__system").get()
    made = run.submission
    assert response["Location"] == f"{made.get_absolute_url()}#asking"
    assert (made.state, made.trials, made.notes) == (SubmissionState.GENERATING, 2, "A first try.")
    assert (made.code_licence, made.publish_when_scored) == ("MIT", True)
    assert (made.system.name, made.system.organisation) == ("Alpha alone", "Alpha house")
    assert (run.endpoint, run.run_tokens, run.run_dollars, run.run_seconds) == (endpoint, 100_000, Decimal("2.5"), 7200)
    assert run.estimate == {
        "input_tokens": 12_345, "output_tokens": 8192, "dollars": "0.0902", "counted_with": "a test's counter",
    }  # fmt: skip
    requested = run.requests.values_list("implementation__revision__task__index", "implementation__trial")
    assert sorted(requested) == [(2, 1), (2, 2)]
    assert made.implementations.count() == 4


@pytest.mark.parametrize(("reports", "warns"), [(None, False), (True, False), (False, True)])
def test_limits_on_estimated_usage_are_announced_before_the_start(
    as_alice: Client, endpoint: Endpoint, small: SuiteVersion, reports: bool | None, warns: bool
) -> None:
    Endpoint.objects.update(reports_usage=reports)
    warning = (
        "This provider reports no token usage. Tokens and cost of the run will be unknown. Limits in tokens and dollars"
    )
    for response, button in (
        (as_alice.get(page(endpoint)), "Show the estimate"),
        (as_alice.post(page(endpoint), TYPED), "Start Estimate again"),
    ):
        # The warning is next to the button.
        found = f"{warning} act on an estimate: one token for three bytes. {button}"
        assert (found in words_of(response)) is warns
    shown = "Token usage not reported: tokens and cost are unknown, and limits act on an estimate"
    assert (shown in words_of(as_alice.get(endpoint.get_absolute_url()))) is warns


@pytest.mark.parametrize(
    "change", [{"trials": "3"}, {"scaffold": "agent"}, {"inputs": "paper_only"}, {"tasks": ["alpha/1"]}]
)
def test_a_changed_order_is_estimated_first(
    as_alice: Client, endpoint: Endpoint, small: SuiteVersion, change: dict[str, Any]
) -> None:
    response = start(as_alice, endpoint, estimated(as_alice, endpoint), **change)
    assert (response.status_code, Submission.objects.exists()) == (200, False)
    assert "The order has changed since its estimate." in words_of(response)
    assert "signed" in response.context


def test_a_changed_price_or_a_forged_estimate_is_estimated_again(
    as_alice: Client, endpoint: Endpoint, small: SuiteVersion
) -> None:
    seen = estimated(as_alice, endpoint)
    for forged in ("", "x", seen[:-1], seen.replace(":", ".")):
        assert start(as_alice, endpoint, forged).status_code == 200
    Endpoint.objects.update(price_output=9)
    assert start(as_alice, endpoint, seen).status_code == 200
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"trials": "11"}, "trials", "less than or equal to 10"),
        ({"consent": "on"}, "licence", "Choose the licence"),
        ({"licence": "MIT"}, "consent", "Tick this box too"),
        ({"notes": "a\u202eb"}, "notes", "direction character"),
    ],
)
def test_errors_are_shown_and_the_form_keeps_its_fields(
    as_alice: Client, endpoint: Endpoint, small: SuiteVersion, changes: dict[str, Any], field: str, message: str
) -> None:
    response = as_alice.post(page(endpoint), {**TYPED, "start": "1", **changes})
    assert (response.status_code, Submission.objects.exists()) == (422, False)
    assert message in " ".join(response.context["form"].errors[field])
    assert 'value="Alpha house"' in response.content.decode()
