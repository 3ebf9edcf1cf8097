"""Model endpoints and the runs on them: what a run would cost, starting it, its progress, pausing and resuming."""

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
from leaderboard.api.submissions import managed, visible
from leaderboard.api.uploads import SubmittedOut
from leaderboard.board.visibility import require_open
from leaderboard.evidence.generations import OPEN_GENERATIONS, generation_of, own_endpoint
from submissions.answers.types import task_named
from submissions.domain import endpoints as domain
from submissions.models import Endpoint
from submissions.permissions import user_of

if TYPE_CHECKING:
    from django.http import QueryDict

    from evaluator.models import Generation
    from submissions.models import Submission

router = Router(tags=["Endpoints"])

_MONEY_OR_TOKENS = ("run_tokens", "run_dollars", "run_seconds")


class EndpointOut(Schema):
    """A model that you may have asked. Limits are for one run, prices US dollars per million tokens.

    ``reports_usage`` is false where the provider reports no token usage: tokens and cost are then unknown, and limits
    act on an estimate. It is null before the first reply.
    """

    id: int
    name: str
    provider: str
    api: str
    base_url: str
    model: str
    has_key: bool
    check_state: str
    check_message: str
    output_limit: str = Field(description="The name of the parameter; empty where the address decides.")
    omit_strict: bool
    run_tokens: int | None
    run_dollars: Decimal | None
    run_seconds: int
    price_input: Decimal | None
    price_output: Decimal | None
    reports_usage: bool | None
    page: str


class EndpointDetail(EndpointOut):
    """An endpoint with its runs that have not ended, as numbers of submissions."""

    open_runs: list[int]


class OrderIn(Order):
    """An order for a suite. Without ``tasks`` every task that takes answers; limits are the endpoint's unless given."""

    suite: str


class Start(OrderIn):
    """An order with the ``estimate`` that was made of it: what it costs has been seen."""

    estimate: str


class EstimateRowOut(Schema):
    """One task: ``problem`` says why it is not asked, ``cuts`` how many parts do not fit the model.

    ``without_paper``: none is available here; ``paper_problem`` says why its file cannot be read.
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
    """What an order is expected to cost; ``dollars`` is null without prices. Send ``estimate`` to start it.

    ``limits_by_estimate``: the provider reports no token usage, so limits in tokens and dollars act on an estimate.
    """

    rows: list[EstimateRowOut]
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    limits_by_estimate: bool
    estimate: str


class RunOut(Schema):
    """How far a run is: ``answered`` of ``total`` questions, what it has used, and its limits.

    Tokens and ``dollars`` are null where the provider did not report them with every reply, ``ended`` while the run may
    go on.
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
    """New limits of a run; what is not given stays."""

    run_tokens: int | None = None
    run_dollars: Decimal | None = None
    run_seconds: int | None = None


@router.get("/endpoints", response=Page[EndpointOut], auth=READ)
def list_endpoints(request: HttpRequest, paging: Query[Paging]) -> dict[str, Any]:
    """Your endpoints."""
    return paged(request, domain.visible_to(request.user), paging, lambda shown: map(_endpoint, shown))


@router.get("/endpoints/{int:pk}", response=EndpointDetail, auth=READ)
def get_endpoint(request: HttpRequest, pk: int) -> dict[str, Any]:
    """One of your endpoints."""
    endpoint = own_endpoint(request, pk)
    return {**_endpoint(endpoint), "open_runs": domain.open_runs(endpoint)}


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    told = [name for name in EndpointOut.model_fields if name not in {"id", "page"}]
    return {
        "id": endpoint.pk,
        **{name: getattr(endpoint, name) for name in told},
        "page": endpoint.get_absolute_url(),
    }


@router.post("/endpoints/{int:pk}/estimate", response=EstimateOut, auth=ENDPOINTS)
def estimate_run(request: HttpRequest, pk: int, order: OrderIn) -> dict[str, Any]:
    """What a run would cost. Nothing is asked and nothing is stored."""
    endpoint = own_endpoint(request, pk)
    form = _form(endpoint, order)
    found = estimating.estimate(endpoint=endpoint, order=form.order())
    return {
        "rows": [{name: getattr(row, name) for name in EstimateRowOut.model_fields} for row in found.rows],
        **{name: getattr(found, name) for name in ("input_tokens", "output_tokens", "dollars")},
        "limits_by_estimate": endpoint.limits_by_estimate,
        "estimate": form.signed(found),
    }


@router.post("/endpoints/{int:pk}/runs", response={201: SubmittedOut}, auth=ENDPOINTS)
def start_run(request: HttpRequest, pk: int, order: Start) -> Status[Any]:
    """Have a model asked for the answers to a suite, as it was estimated."""
    endpoint = own_endpoint(request, pk)
    form = _form(endpoint, order)
    if form.seen_estimate() is None:
        detail = "This estimate is not of this order, or the endpoint has changed. Ask for a new one first."
        raise ProblemError(Kind.WRONG_STATE, detail)
    made = generating.start(owner=user_of(request), endpoint=endpoint, order=form.order())
    return Status(201, {"submission": made.pk, "created": True, "page": made.get_absolute_url()})


def _form(endpoint: Endpoint, order: OrderIn) -> RunForm:
    """The page's form of an order, valid. Raises Http404 for a suite that takes no answers, and ProblemError."""
    version = next((each for each in open_versions() if each.suite.slug == order.suite), None)
    if version is None:
        raise Http404
    given = order.model_dump()
    limits = LimitsForm.limits_of(endpoint)
    data = {
        **given,
        "tasks": [task_named(each) for each in order.tasks],
        **{name: limits[name] if given[name] is None else given[name] for name in _MONEY_OR_TOKENS},
        "system": order.system or endpoint.model,
        "consent": bool(order.publish_licence),
        "licence": order.publish_licence,
    }
    form = RunForm(cast("QueryDict", data), endpoint=endpoint, version=version)
    valid(form)
    return form


@router.get("/submissions/{int:pk}/run", response=RunOut)
def get_run(request: HttpRequest, pk: int) -> dict[str, Any]:
    """How far the asking is, of a submission that this site asks a model for."""
    return _run(_generation(request, visible(request, pk)))


@router.post("/submissions/{int:pk}/run/pause", response=RunOut, auth=ENDPOINTS)
def pause_run(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Ask nothing more for now. What was answered is kept."""
    generation = _generation(request, managed(request, pk))
    generating.pause(generation=generation, actor=user_of(request))
    return _run(generation)


@router.post("/submissions/{int:pk}/run/resume", response=RunOut, auth=ENDPOINTS)
def resume_run(request: HttpRequest, pk: int, limits: Limits) -> dict[str, Any]:
    """Go on with a paused or held run. Only its owner raises limits: it is their account that pays."""
    generation = _generation(request, managed(request, pk))
    given = limits.model_dump()
    asked = LimitsForm(
        {name: getattr(generation, name) if given[name] is None else given[name] for name in _MONEY_OR_TOKENS}
    )
    valid(asked)
    changed = {name: value for name, value in asked.limits().items() if given[name] is not None}
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
    counted = ("total", "answered", "code", "running", "held", "calls", "failed", "wait_until")
    told = ("state", "reason", "inputs", "scaffold", *_MONEY_OR_TOKENS, "created")
    return {
        "submission": generation.submission_id,
        **{name: getattr(generation, name) for name in told},
        **{name: getattr(done, name) for name in counted},
        **{name: getattr(done.used, name) for name in ("input_tokens", "output_tokens", "dollars")},
        "ended": None if generation.state in OPEN_GENERATIONS else generation.ended,
    }
