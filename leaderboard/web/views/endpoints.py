"""Let users register, change, test and delete their model endpoints and keys.

Only its owner, or its team, sees an endpoint: for other accounts, maintainers too, these addresses do not exist.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from evaluator.generation.limits import duration
from evaluator.models import Generation
from evaluator.providers.checking_endpoints import request_check
from evaluator.providers.guard import Policy, problem_of_literal
from leaderboard.evidence.generations import money, own_endpoint
from submissions.domain import endpoints as domain
from submissions.domain.access import visible_to
from submissions.endpoint_forms import PRESETS, EndpointForm, preset
from submissions.endpoints.addresses import origin
from submissions.enums import EndpointCheck
from submissions.exceptions import SubmissionError
from submissions.models import Endpoint
from submissions.permissions import user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest

SHOWN_RUNS = 25


@never_cache
@login_required
@require_safe
def endpoints(request: HttpRequest) -> HttpResponse:
    """List the user's endpoints and their teams'."""
    seen = Q(generations__submission__in=visible_to(request.user).values("pk"))
    rows = list(domain.visible_to(request.user).select_related("team").annotate(runs=Count("generations", filter=seen)))
    context = {"rows": rows, "teams": any(row.team_id for row in rows)}
    return render(request, "leaderboard/endpoints.html", context)


@never_cache
@sensitive_post_parameters("key")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def endpoint_form(request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """Register an endpoint (``?preset=`` fills in a provider's known values), or change endpoint ``pk``."""
    shown = None if pk is None else own_endpoint(request, pk)
    chosen, registrant = preset(request.GET.get("preset", "")), None if shown else user_of(request)
    if request.method == "POST":
        form = EndpointForm(request.POST, user=registrant, has_key=shown is not None and shown.has_key)
    elif shown:
        form = EndpointForm.of(shown)
    else:
        form = EndpointForm(initial=chosen.initial if chosen else None, user=registrant)
    if request.method == "POST" and form.is_valid() and (wrong := _forbidden(form.cleaned_data["base_url"])):
        form.refuse(wrong, field="base_url")
    elif request.method == "POST" and form.is_valid():
        described, key = form.described(), form.cleaned_data["key"]
        try:
            if shown is None:
                team, key_erased = form.cleaned_data.get("team"), False
                stored = domain.add(owner=user_of(request), described=described, key=key, team=team)
            else:
                key_erased = domain.change(endpoint=shown, actor=user_of(request), described=described, key=key)
                stored = shown
        except SubmissionError as error:
            form.refuse(str(error))
        else:
            done = "Saved." if shown else "Registered. Test the connection before you start a run."
            messages.success(request, done)
            if key_erased:
                messages.warning(
                    request, "The address has changed, so the key was deleted: it was meant for the old address."
                )
            return redirect(stored)
    context = {"form": form, "endpoint": shown, "presets": () if shown else PRESETS, "chosen": chosen}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "leaderboard/endpoint_form.html", context, status=status)


def _forbidden(base_url: str) -> str:
    """Return why this site will never call the IP address in ``base_url``; empty for a name or an allowed address."""
    return problem_of_literal(origin(base_url), Policy.of(settings.ENVIRONMENT.endpoint_networks))


@never_cache
@login_required
@require_safe
def endpoint(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one endpoint: its settings, connection test, key's state, and runs."""
    shown = own_endpoint(request, pk)
    # Runs that began before the endpoint was handed over to a team are still their sender's alone.
    seen = visible_to(request.user).values("pk")
    runs = Generation.objects.filter(endpoint=shown, submission__in=seen).select_related(
        "submission__system", "submission__suite_version__suite"
    )
    context = {
        "endpoint": shown,
        "facts": _facts(shown),
        "judges": domain.using_judges(shown),
        "runs": runs[:SHOWN_RUNS],
    }
    return render(request, "leaderboard/endpoint.html", context)


def _facts(endpoint: Endpoint) -> list[tuple[str, str]]:
    """Return an endpoint's settings other than address, model and key, as label and text."""
    limits = [
        "" if endpoint.run_tokens is None else f"{endpoint.run_tokens:,} tokens",
        "" if endpoint.run_dollars is None else f"US $ {money(endpoint.run_dollars)}",
        duration(endpoint.run_seconds),
    ]
    facts = [
        ("Temperature", "" if endpoint.temperature is None else f"{endpoint.temperature:g}"),
        ("Top-p", "" if endpoint.top_p is None else f"{endpoint.top_p:g}"),
        ("Reasoning effort", endpoint.effort),
        ("Longest answer", f"{endpoint.max_output_tokens:,} tokens"),
        ("Name of the output limit", endpoint.output_limit),
        ("Strict", "left out of tools and schemas" if endpoint.omit_strict else ""),
        ("Context", f"{endpoint.context_tokens:,} tokens"),
        ("Requests", f"{endpoint.requests_at_once} at once, {endpoint.request_seconds:,} s each at most"),
        ("A run’s limits", "; ".join(filter(None, limits))),  # noqa: RUF001 - as pages write it
    ]
    if endpoint.price_input is not None and endpoint.price_output is not None:
        prices = f"US $ {money(endpoint.price_input)} in, {money(endpoint.price_output)} out, per million tokens"
        facts.append(("Prices", prices))
    if endpoint.limits_by_estimate:
        facts.append(("Token usage", "not reported: tokens and cost are unknown, and limits act on an estimate"))
    return [(label, text) for label, text in facts if text]


@never_cache
@require_safe
def endpoint_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the result of a connection test; 204 while it is running."""
    shown = own_endpoint(request, pk)
    if shown.check_state == EndpointCheck.WAITING:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "leaderboard/endpoint_check.html", {"endpoint": shown, "announce": True})


@action("endpoint")
def endpoint_check(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue a connection test, which makes one small call."""
    shown = own_endpoint(request, pk)
    return perform(request, lambda: request_check(endpoint=shown, actor=user_of(request)), back=shown)


@action("endpoint")
def endpoint_forget(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete the key."""
    shown = own_endpoint(request, pk)
    act = partial(domain.forget_key, endpoint=shown, actor=user_of(request))
    return perform(request, act, back=shown, done="The key is deleted.")


@action("endpoint")
def endpoint_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete the endpoint and its key."""
    shown = own_endpoint(request, pk)
    try:
        domain.delete(endpoint=shown, actor=user_of(request))
    except SubmissionError as error:
        messages.warning(request, str(error))
        return redirect("endpoint", pk)
    messages.success(request, f"{shown.name} is deleted, and its key with it. The runs on it stay.")
    return redirect("endpoints")
