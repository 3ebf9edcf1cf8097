"""Let maintainers plan, start, retry and stop re-evaluations, and show their progress and results."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evaluator.models import Reevaluation
from evaluator.reevaluation import planning, reevaluating
from evaluator.sandbox.task_environments import LastSeen
from leaderboard.board.visibility import closed_submissions
from leaderboard.evidence import reevaluations
from leaderboard.health.queues import reevaluations_held_in_full
from leaderboard.web.forms import ChooseForm, StartForm
from submissions.exceptions import SubmissionError
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from evaluator.reevaluation.planning import PlannedReevaluation

SHOWN_PLANS = 100


@never_cache
@maintainers_only
@require_safe
def reevaluate(request: HttpRequest) -> HttpResponse:
    """Show the plan for ``?suite=``, ``?task=`` and ``?submission=``; without them, no plan."""
    choice = ChooseForm(request.GET if ChooseForm.is_given(request.GET) else None)
    return _page(request, choice)


@action("reevaluate")
@maintainers_only
def reevaluate_start(request: HttpRequest) -> HttpResponse:
    """Start the plan shown. If it has changed since, show the new one with the form as typed."""
    choice, form = ChooseForm(request.POST), StartForm(request.POST)
    if not choice.is_valid():
        return _page(request, choice, start=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    plans = _plan(choice)
    if form.is_valid() and form.cleaned_data["plan"] != planning.fingerprint(plans):
        form.add_error(None, "The plan has changed since it was shown. Check it again, then confirm it.")
    if not form.is_valid():
        return _page(request, choice, plans=plans, start=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    started, refused = 0, []
    for each in plans:
        if each.needed:
            try:
                reevaluating.start(planned=each, reason=form.cleaned_data["reason"], actor=user_of(request))
            except SubmissionError as error:
                refused.append(str(error))
            else:
                started += 1
    for text in refused:
        messages.warning(request, text)
    messages.success(request, f"{started} submission{'s are' if started != 1 else ' is'} being measured again.")
    return redirect("reevaluate")


def _page_address(pk: int) -> str:  # noqa: ARG001 - the form of every re-evaluation is on the same page
    return reverse("reevaluate")


@action(_page_address)
@maintainers_only
def reevaluate_retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Queue the held runs of a held re-evaluation again."""
    found = get_object_or_404(Reevaluation.objects.select_related("submission"), pk=pk)

    def retry() -> str:
        number = reevaluating.retry(reevaluation=found, actor=user_of(request))
        return f"Submission {found.submission_id}: {number} run{'s are' if number != 1 else ' is'} queued again."

    return perform(request, retry, back="reevaluate")


@action(_page_address)
@maintainers_only
def reevaluate_stop(request: HttpRequest, pk: int) -> HttpResponse:
    """Stop a re-evaluation; the submission keeps its results."""
    found = get_object_or_404(Reevaluation.objects.select_related("submission"), pk=pk)
    act = partial(reevaluating.cancel, reevaluation=found, actor=user_of(request))
    done = f"Submission {found.submission_id} keeps its results."
    return perform(request, act, back="reevaluate", done=done)


def _plan(choice: ChooseForm) -> list[PlannedReevaluation]:
    return planning.plan(choice.submissions, offered=LastSeen(), task=choice.cleaned_data["task"])


def _page(
    request: HttpRequest,
    choice: ChooseForm,
    *,
    plans: list[PlannedReevaluation] | None = None,
    start: StartForm | None = None,
    status: int = 200,
) -> HttpResponse:
    if plans is None and choice.is_bound and choice.is_valid():
        plans = _plan(choice)
    needed = [each for each in plans or [] if each.needed]
    chosen: dict[str, Any] = choice.cleaned_data if choice.is_bound and choice.is_valid() else {}
    under_way = reevaluations.under_way()
    in_full = reevaluations_held_in_full(each.row for each in under_way if each.row.is_held)
    context = {
        "choice": choice,
        "planned": plans is not None,
        "looked_at": len(plans or []),
        "plans": needed[:SHOWN_PLANS],
        "more": max(0, len(needed) - SHOWN_PLANS),
        "needed": len(needed),
        "answers": sum(len(each.runs) for each in needed),
        "stale": [each for each in plans or [] if each.stale][:SHOWN_PLANS],
        "start": start or StartForm(initial={"plan": planning.fingerprint(plans or [])}),
        "plan": planning.fingerprint(plans or []),
        "chosen": {name: value for name, value in chosen.items() if value},
        "under_way": [(each, in_full.get(each.row.pk, each.row.held_reason)) for each in under_way],
        "latest": reevaluations.latest(),
        "hidden": closed_submissions(request),
    }
    return render(request, "leaderboard/reevaluate.html", context, status=status)
