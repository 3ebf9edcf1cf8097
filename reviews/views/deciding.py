"""Pages of adjudication, and maintainers' actions: decide cases, void cases, lift flags."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviews.annotators.guidelines import current
from reviews.cases import flags, holding, voiding
from reviews.cases.evidence import evidence
from reviews.enums import AssignmentState, Role
from reviews.exceptions import LeaseLostError
from reviews.forms import DecideForm, ReasonForm
from reviews.labelling import adjudicating
from reviews.labelling.claiming import own_assignment
from reviews.labelling.items import blind_item
from reviews.labelling.keys import KEYS, keys_of
from reviews.models import Assignment, Case, TaskFlag
from submissions.exceptions import SubmissionError
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

_KEYS: Final = ("label_cc", "label_lc", "label_li", "note", "guidelines", "help", "submit")
"""Actions of the labelling page that this page has too."""


def _address(pk: int) -> str:
    return reverse("adjudicate", args=[pk])


def _home(pk: int) -> str:  # noqa: ARG001 - action calls it with the view's arguments
    return reverse("reviews")


def _own(request: HttpRequest, pk: int) -> Assignment:
    """Return the adjudicator's own assignment, in any state. Raises Http404 for others, including maintainers."""
    assignment = own_assignment(request.user, pk)
    if assignment.role != Role.ADJUDICATOR:
        raise Http404
    return assignment


@never_cache
@login_required
@require_safe
def adjudicate(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the evidence on a disputed answer, without its owner, and the form that decides it."""
    assignment = _own(request, pk)
    if assignment.state == AssignmentState.ACTIVE:
        return redirect("label", pk)
    if assignment.state == AssignmentState.DONE:
        messages.info(request, "You have decided this case.")
        return redirect("reviews")
    if assignment.state != AssignmentState.EVIDENCE:
        return _lost(request, assignment, holding.why_lost(assignment), DecideForm(), status=HTTPStatus.OK)
    return _page(request, assignment, DecideForm(initial=_draft_decision(assignment)))


@action(_address)
@never_cache
def adjudicate_decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Decide the case. The input stays in the form until the decision is stored."""
    assignment = _own(request, pk)
    form = DecideForm(request.POST)
    if assignment.state == AssignmentState.ACTIVE:
        # No evidence is shown before the reviewer's label is locked, not even with an error.
        return redirect("label", pk)
    if form.is_valid():
        try:
            adjudicating.decide(assignment=assignment, **form.cleaned_data)
        except LeaseLostError as error:
            return _lost(request, assignment, str(error), form, status=HTTPStatus.GONE)
        except SubmissionError as error:
            form.add_error(None, getattr(error, "errors", None) or str(error))
        else:
            messages.success(request, "Decided. The label is final now, and the case is public.")
            return redirect("reviews")
    if assignment.state != AssignmentState.EVIDENCE:
        return _lost(request, assignment, holding.why_lost(assignment), form, status=HTTPStatus.GONE)
    return _page(request, assignment, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@never_cache
@require_POST
@login_required
def adjudicate_beat(request: HttpRequest, pk: int) -> JsonResponse:
    """Renew the lease of the open page and return its end (ISO 8601); respond with 410 once it is lost."""
    assignment = _own(request, pk)
    if assignment.state != AssignmentState.EVIDENCE:
        return JsonResponse({"error": holding.why_lost(assignment)}, status=HTTPStatus.GONE)
    try:
        until = holding.extend(assignment)
    except LeaseLostError as error:
        return JsonResponse({"error": str(error)}, status=HTTPStatus.GONE)
    return JsonResponse({"lease_until": until.isoformat()})


def _draft_decision(assignment: Assignment) -> dict[str, object]:
    """Return a decision that could not be stored; a draft without reasons is that of the blind label."""
    draft = assignment.draft
    return {name: draft.get(name, "") for name in DecideForm.base_fields} if draft.get("reasons") else {}


def _page(request: HttpRequest, assignment: Assignment, form: DecideForm, *, status: int = 200) -> HttpResponse:
    item = blind_item(assignment)
    keys = keys_of(assignment.reviewer)
    context = {
        "assignment": assignment,
        "item": item,
        **evidence(assignment, candidate=item.candidate, golden=item.golden),
        "comparison": item.compared(),
        "guideline": current(),
        "form": form,
        "keys": {name: keys[name] for name in _KEYS},
        "key_rows": [(keys[name], "Decide" if name == "submit" else KEYS[name].does) for name in _KEYS],
    }
    return render(request, "reviews/adjudicate.html", context, status=status)


def _lost(request: HttpRequest, assignment: Assignment, why: str, form: DecideForm, *, status: int) -> HttpResponse:
    """Show the input, without the evidence."""
    context = {"assignment": assignment, "why": why, "form": form, "note": form.data.get("note", "")}
    return render(request, "reviews/adjudicate_lost.html", context, status=status)


@action(_home)
@maintainers_only
def case_void(request: HttpRequest, pk: int) -> HttpResponse:
    """End the review of an answer without a label; locked labels stay stored."""
    case = get_object_or_404(Case, pk=pk)
    return _act_with_reason(
        request,
        title="End this review without a label",
        act=lambda reason: voiding.void(actor=user_of(request), case=case, reason=reason),
        done="The review has ended without a label.",
    )


@action(_home)
@maintainers_only
def flag_lift(request: HttpRequest, pk: int) -> HttpResponse:
    """Lift the flag of a task, whose test or golden function counts as correct again."""
    flag = get_object_or_404(TaskFlag, pk=pk)
    return _act_with_reason(
        request,
        title="Lift the flag of this task",
        act=lambda reason: flags.lift(actor=user_of(request), flag=flag, reason=reason),
        done="The flag is lifted; the scores that depend on the task are no longer marked.",
    )


def _act_with_reason(request: HttpRequest, *, title: str, act: Callable[[str], object], done: str) -> HttpResponse:
    """Call ``act`` with the form's reason and return to the form's page, or show the form with its errors."""
    form = ReasonForm(request.POST)
    back = _back(request, form.data.get("next", ""))
    context = {"form": form, "title": title, "back": back}
    return perform(
        request,
        lambda: act(form.cleaned_data["reason"]) and None,
        back=back,
        done=done,
        form=form,
        again=lambda: render(
            request, "reviews/adjudicate_because.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY
        ),
    )


def _back(request: HttpRequest, address: str) -> str:
    """Return ``address`` if it is on this site, else the home page of reviewing."""
    allowed = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if allowed and address.startswith("/") else reverse("reviews")
