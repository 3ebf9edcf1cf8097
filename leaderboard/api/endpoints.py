"""Serve model endpoints and their runs: estimate, start, watch, pause and resume a run."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema, Status

from evaluator.generation import estimating, generating
from evaluator.generation.forms import LimitsForm, RunForm, open_versions
from evaluator.generation.orders import Order
from leaderboard.api.access import ENDPOINTS, READ
from leaderboard.api.paging import Page, Paging, paged
from leaderboard.api.problems import Kind, ProblemError, valid
from leaderboard.api.schemas import filled
from leaderboard.api.submissions import managed, visible
from leaderboard.api.teams import TeamOut
from leaderboard.api.uploads import SubmittedOut
from leaderboard.board.visibility import require_open
from leaderboard.evidence.generations import OPEN_GENERATIONS, generation_of, own_endpoint
from submissions.answers.contents import task_named
from submissions.domain import endpoints as domain
from submissions.models import Endpoint
from submissions.permissions import user_of

if TYPE_CHECKING:
    from django.http import QueryDict

    from evaluator.models import Generation
    from submissions.models import Submission

router = Router(tags=["Endpoints"])

_LIMIT_FIELDS = ("run_tokens", "run_dollars", "run_seconds")


class EndpointOut(Schema):
    """A model that you, or the members of its ``team``, may run. Limits apply to each run.

    Prices are US dollars per million tokens.

    ``reports_usage`` is false if the provider reports no token usage: tokens and cost are then unknown, and limits
    apply to an estimate. It is null before the first reply.
    """

    id: int
    name: str
    team: TeamOut | None
    provider: str
    api: str
    base_url: str
    model: str
    has_key: bool
    check_state: str
    check_message: str
    output_limit: str = Field(description="The parameter's name; empty: chosen by the address.")
    omit_strict: bool
    run_tokens: int | None
    run_dollars: Decimal | None
    run_seconds: int
    price_input: Decimal | None
    price_output: Decimal | None
    reports_usage: bool | None
    page: str


class EndpointDetail(EndpointOut):
    """An endpoint with its unfinished runs, as submission numbers."""

    open_runs: list[int]


class OrderIn(Order):
    """A run to start. Default ``tasks``: every task that takes answers; default limits: the endpoint's."""

    suite: str


class Start(OrderIn):
    """An order with the ``estimate`` made for it, which confirms that you have seen the cost."""

    estimate: str


class EstimateRowOut(Schema):
    """The estimate of one task. ``problem`` is why it is left out; ``cuts`` counts the parts too long for the model.

    ``without_paper``: no paper is available here; ``paper_problem`` is why its file cannot be read.
    """

    task: str
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    cuts: int
    problem: str
    without_paper: bool
    paper_problem: str


class EstimateOut(Schema):
    """The expected cost of an order; ``dollars`` is null without prices. Send ``estimate`` to start the run.

    ``limits_by_estimate``: the provider reports no token usage, so token and dollar limits apply to an estimate.
    """

    rows: list[EstimateRowOut]
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    limits_by_estimate: bool
    estimate: str


class RunOut(Schema):
    """A run's progress (``answered`` of ``total`` questions), usage and limits.

    Tokens and ``dollars`` are null unless the provider reported them with every reply. ``ended`` is null while the run
    may continue.
    """

    submission: int
    state: str
    reason: str
    inputs: str
    scaffold: str
    total: int
    answered: int
    code: int
    running: int
    held: int
    calls: int
    failed: int
    input_tokens: int | None
    output_tokens: int | None
    dollars: Decimal | None
    run_tokens: int | None
    run_dollars: Decimal | None
    run_seconds: int
    wait_until: datetime | None
    created: datetime
    ended: datetime | None


class Limits(Schema):
    """New limits of a run; omitted limits keep their values."""

    run_tokens: int | None = None
    run_dollars: Decimal | None = None
    run_seconds: int | None = None


@router.get("/endpoints", response=Page[EndpointOut], auth=READ)
def list_endpoints(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """List your endpoints and your teams'."""
    return paged(
        request, domain.visible_to(request.user).select_related("team"), paging, lambda shown: map(_endpoint, shown)
    )


@router.get("/endpoints/{int:pk}", response=EndpointDetail, auth=READ)
def get_endpoint(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Get one of your endpoints."""
    endpoint = own_endpoint(request, pk)
    return {**_endpoint(endpoint), "open_runs": domain.open_runs(endpoint)}


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    return filled(EndpointOut, endpoint, page=endpoint.get_absolute_url())


@router.post("/endpoints/{int:pk}/estimate", response=EstimateOut, auth=ENDPOINTS)
def estimate_run(request: HttpRequest, pk: int, order: OrderIn) -> dict[str, Any]:
    """Estimate the cost of a run. This calls no model and stores nothing."""
    endpoint = own_endpoint(request, pk)
    form = _form(request, endpoint, order)
    found = estimating.estimate(endpoint=endpoint, order=form.order())
    return filled(EstimateOut, found, limits_by_estimate=endpoint.limits_by_estimate, estimate=form.signed(found))


@router.post("/endpoints/{int:pk}/runs", response={201: SubmittedOut}, auth=ENDPOINTS)
def start_run(request: HttpRequest, pk: int, order: Start) -> Status[Any]:
    """Start a run: the model answers a suite's tasks as estimated."""
    endpoint = own_endpoint(request, pk)
    form = _form(request, endpoint, order)
    if form.seen_estimate() is None:
        detail = "This estimate belongs to another order, or the endpoint has changed. Request a new estimate."
        raise ProblemError(Kind.WRONG_STATE, detail)
    made = generating.start(owner=user_of(request), endpoint=endpoint, order=form.order())
    return Status(201, {"submission": made.pk, "created": True, "page": made.get_absolute_url()})


def _form(request: HttpRequest, endpoint: Endpoint, order: OrderIn) -> RunForm:
    """Return the page's form filled with an order. Raises ProblemError, and Http404 if the suite takes no answers."""
    version = next((each for each in open_versions() if each.suite.slug == order.suite), None)
    if version is None:
        raise Http404
    given = order.model_dump()
    limits = LimitsForm.limits_of(endpoint)
    data = {
        **given,
        "tasks": [task_named(each) for each in order.tasks],
        **{name: limits[name] if given[name] is None else given[name] for name in _LIMIT_FIELDS},
        "system": order.system or endpoint.model,
        "consent": bool(order.publish_licence),
        "licence": order.publish_licence,
    }
    form = RunForm(cast("QueryDict", data), endpoint=endpoint, version=version, user=user_of(request))
    valid(form)
    return form


@router.get("/submissions/{int:pk}/run", response=RunOut)
def get_run(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Get the progress of a submission's run on an endpoint."""
    return _run(_generation(request, visible(request, pk)))


@router.post("/submissions/{int:pk}/run/pause", response=RunOut, auth=ENDPOINTS)
def pause_run(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Pause a run. Answers received so far are kept."""
    generation = _generation(request, managed(request, pk))
    generating.pause(generation=generation, actor=user_of(request))
    return _run(generation)


@router.post("/submissions/{int:pk}/run/resume", response=RunOut, auth=ENDPOINTS)
def resume_run(request: HttpRequest, pk: int, limits: Limits) -> dict[str, Any]:
    """Resume a paused or held run. Only its owner can raise limits, since their provider account pays."""
    generation = _generation(request, managed(request, pk))
    given = limits.model_dump()
    form = LimitsForm(
        {name: getattr(generation, name) if given[name] is None else given[name] for name in _LIMIT_FIELDS}
    )
    valid(form)
    changed = {name: value for name, value in form.limits().items() if given[name] is not None}
    generating.resume(generation=generation, actor=user_of(request), **changed)
    return _run(generation)


def _generation(request: HttpRequest, shown: Submission) -> Generation:
    require_open(request, submission=shown)
    found = generation_of(shown)
    if found is None:
        raise Http404
    return found


def _run(generation: Generation) -> dict[str, Any]:
    done = generating.progress(generation)
    return filled(
        RunOut,
        generation,
        submission=generation.submission_id,
        total=done.total,
        answered=done.answered,
        code=done.code,
        running=done.running,
        held=done.held,
        calls=done.calls,
        failed=done.failed,
        wait_until=done.wait_until,
        input_tokens=done.used.input_tokens,
        output_tokens=done.used.output_tokens,
        dollars=done.used.dollars,
        ended=None if generation.state in OPEN_GENERATIONS else generation.ended,
    )
