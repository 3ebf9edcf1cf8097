"""Start a run on an endpoint, show its progress, and show every call it made."""

from __future__ import annotations

import json
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from evaluator.generation import estimating, generating
from evaluator.generation.forms import LimitsForm, RunForm, open_versions
from evaluator.models import ModelCall
from leaderboard.board.visibility import closed, require_open
from leaderboard.evidence import call_texts, generations
from leaderboard.evidence.generations import own_endpoint
from leaderboard.evidence.submissions import may_cancel, may_see_code, public_trace, visible_submission
from leaderboard.web.closed_pages import closes
from submissions.domain import quotas
from submissions.domain.access import may_manage
from submissions.enums import Scaffold
from submissions.exceptions import SubmissionError
from submissions.forms import CancelForm
from submissions.models import Implementation
from submissions.permissions import user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest

    from evaluator.models import Generation
    from submissions.models import Endpoint, Submission


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_new(request: HttpRequest, pk: int) -> HttpResponse:
    """Order a run on ``?suite=``. A POST estimates its cost; a confirmed POST starts the run as estimated."""
    endpoint = own_endpoint(request, pk)
    versions = open_versions()
    slug = request.POST.get("suite") or request.GET.get("suite", "")
    version = next((each for each in versions if each.suite.slug == slug), versions[0] if versions else None)
    if version is None:
        return render(request, "leaderboard/generation_new.html", {"endpoint": endpoint})
    if slug not in {"", version.suite.slug}:
        raise Http404(f"No suite “{slug[:50]}” takes answers now.")
    user, form, estimated = user_of(request), RunForm(endpoint=endpoint, version=version, user=user_of(request)), {}
    if request.method == "POST":
        form = RunForm(request.POST, endpoint=endpoint, version=version, user=user)
        if form.is_valid():
            try:
                if "start" in request.POST and form.seen_estimate() is not None:
                    made = generating.start(owner=user, endpoint=endpoint, order=form.order())
                    messages.success(request, "Started: the model is answering the tasks.")
                    # Without a fragment here, browsers keep the form's.
                    return redirect(f"{made.get_absolute_url()}#asking")
                estimated = _estimated(endpoint, form)
            except SubmissionError as error:
                form.add_error(None, str(error))
        if estimated and "start" in request.POST:
            messages.warning(request, "The order has changed since its estimate. Look at the new one, then start.")
    context = {
        "endpoint": endpoint,
        "version": version,
        "suites": [each.suite for each in versions],
        "form": form,
        "quota_remaining": quotas.remaining(user, endpoint.team),
        "quota_limit": quotas.limit(endpoint.team or user),
        **estimated,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(request, "leaderboard/generation_new.html", context, status=status)


def _estimated(endpoint: Endpoint, form: RunForm) -> dict[str, Any]:
    """Return the cost estimate of an order, and its signed form, which the start of the run must send back."""
    estimate = estimating.estimate(endpoint=endpoint, order=form.order())
    is_agent = form.cleaned_data["scaffold"] == Scaffold.AGENT
    return {"estimate": estimate, "signed": form.signed(estimate), "is_agent": is_agent}


@never_cache
@require_safe
@closes
def generation_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the part of a submission's page that changes during a run; 204 if the browser shows it (``?seen=``)."""
    shown = visible_submission(request, pk)
    require_open(request, submission=shown)
    context = generations.generation_context(request.user, shown)
    if not context:
        raise Http404
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    trace = public_trace(shown, outcomes=not closed(request, submission=shown))
    cancel = CancelForm() if may_cancel(request.user, shown) else None
    changed = {"announce": True, "trace": trace, "cancel": cancel}
    return render(request, "leaderboard/generation_live.html", context | changed)


def _managed(request: HttpRequest, pk: int) -> Generation:
    """Return the run of a submission that the requesting user may manage. Raises Http404."""
    shown = visible_submission(request, pk)
    generation = generations.generation_of(shown)
    if generation is None or not may_manage(request.user, shown):
        raise Http404
    return generation


@action("submission")
def generation_pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Pause the run."""
    act = partial(generating.pause, generation=_managed(request, pk), actor=user_of(request))
    back = reverse("submission", args=[pk])
    return perform(request, act, back=back, done="Paused. Answers received so far are kept.")


@action("submission")
def generation_resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Resume the run; its owner may change its limits."""
    generation, actor = _managed(request, pk), user_of(request)
    form = LimitsForm(request.POST)

    def resume() -> None:
        # A maintainer cannot raise the limits: the owners' provider account pays.
        limits = form.limits() if generating.may_raise_limits(actor, generation) else {}
        generating.resume(generation=generation, actor=actor, **limits)

    def again() -> HttpResponse:
        context = generations.generation_context(request.user, visible_submission(request, pk)) | {"resume": form}
        return render(request, "leaderboard/generation_resume.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    back = reverse("submission", args=[pk])
    return perform(request, resume, back=back, done="The run continues.", form=form, again=again)


def _code_visible(request: HttpRequest, pk: int) -> Submission:
    """Return the submission if the viewer may see its code, which prompts and answers contain. Raises Http404."""
    shown = visible_submission(request, pk)
    if not may_see_code(request.user, shown):
        raise Http404
    return shown


@never_cache
@require_safe
@closes
def answer_calls(request: HttpRequest, pk: int, paper: str, index: int, trial: int) -> HttpResponse:
    """List every call made for one answer."""
    shown = _code_visible(request, pk)
    answer = get_object_or_404(
        Implementation.objects.select_related("revision__task__paper", "request"),
        submission=shown,
        revision__task__paper__slug=paper,
        revision__task__index=index,
        trial=trial,
        request__isnull=False,
    )
    require_open(request, submission=shown)
    context = {
        "submission": shown,
        "answer": answer,
        "asked": answer.request,
        "cuts": generations.cuts_by_reason(answer.request.cuts),
        "calls": list(generations.calls_of(answer)),
    }
    return render(request, "leaderboard/calls.html", context)


@never_cache
@require_safe
@closes
def model_call(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """Show one call's request and response. ``?raw=request`` and ``?raw=response`` return either as a file."""
    shown = _code_visible(request, pk)
    call = get_object_or_404(
        ModelCall.objects.select_related("answer_request__implementation__revision__task__paper"),
        pk=number,
        answer_request__implementation__submission=shown,
    )
    assert call.answer_request is not None  # noqa: S101 - for the type checker: the filter ensures it
    answer = call.answer_request.implementation
    require_open(request, submission=shown)
    raw = request.GET.get("raw", "")
    if raw in {"request", "response"}:
        return _raw(call, raw)
    calls = list(generations.calls_of(answer))
    place = calls.index(call)
    context = {
        "submission": shown,
        "manages": may_manage(request.user, shown),
        "answer": answer,
        "call": calls[place],
        "place": place + 1,
        "of": len(calls),
        "previous": calls[place - 1] if place else None,
        "following": calls[place + 1] if place + 1 < len(calls) else None,
        "removed": call.removed,
        "sent": call_texts.sent_turns(call.request),
        "facts": [] if call.removed else call_texts.other_facts(call.request),
        "reply": call_texts.reply_turns(call.response),
        "request_json": call_texts.pretty(call.request),
        "response_json": call_texts.pretty(call.response) if call.response is not None else None,
    }
    return render(request, "leaderboard/call.html", context)


def _raw(call: ModelCall, name: str) -> HttpResponse:
    """Return a body as a download, which no browser renders as a page of this site."""
    body = json.dumps(getattr(call, name), ensure_ascii=False)
    response = HttpResponse(body, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="call-{call.pk}-{name}.json"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
