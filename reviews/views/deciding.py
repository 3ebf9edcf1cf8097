"""Pages of adjudication, and maintainers' actions: decide cases, void cases, lift flags."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from evaluator.labels import Label
from reviews.cases import flags, holding, voiding
from reviews.cases.evidence import evidence, place_findings
from reviews.enums import AssignmentState, Role
from reviews.exceptions import LeaseLostError
from reviews.forms import ReasonForm
from reviews.labelling import adjudicating
from reviews.labelling.claiming import own_assignment
from reviews.labelling.forms import DecideForm
from reviews.labelling.keys import DECISION_KEYS, key_rows, keys_of
from reviews.models import Case, TaskFlag
from reviews.views import workbench
from submissions.exceptions import SubmissionError
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, QueryDict

    from reviews.models import Assignment
    from reviews.views.workbench import HtmxRequest


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def adjudicate(request: HtmxRequest, pk: int) -> HttpResponse:
    """Show the evidence on a disputed answer, without its owner, and the form that decides it.

    The form posts here with ``act``: ``save`` (also automatic while typing), ``decide``, ``next`` (decide and take the
    next case), or ``take-`` with what is taken over from a label. For htmx, a save responds with its result.
    """
    if not request.user.is_authenticated:
        return workbench.signed_out(request)
    assignment = _own(request, pk)
    if assignment.state == AssignmentState.ACTIVE:
        # No evidence is shown before the adjudicator's own label is locked, not even with an error.
        return redirect("label", pk)
    if request.method == "POST":
        return (_decide if request.POST.get("act") in {"decide", "next"} else _save)(request, assignment)
    if assignment.state == AssignmentState.DONE:
        messages.info(request, "You have decided this case.")
        return redirect("reviews")
    if assignment.state != AssignmentState.EVIDENCE:
        form = DecideForm(draft=assignment.draft)
        return _lost(request, assignment, holding.why_lost(assignment), form, status=HTTPStatus.OK)
    return _page(request, assignment, DecideForm(draft=assignment.draft))


def _own(request: HtmxRequest, pk: int) -> Assignment:
    """Return the adjudicator's own assignment, in any state. Raises Http404 for others, including maintainers."""
    assignment = own_assignment(request.user, pk)
    if assignment.role != Role.ADJUDICATOR:
        raise Http404
    return assignment


def _save(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Save the draft and renew the lease. Without scripts, also take over a label or a finding."""
    typed = request.POST.copy()
    if assignment.state == AssignmentState.EVIDENCE:
        _take_over(typed, assignment)
    form = DecideForm(typed)
    return workbench.save(
        request,
        assignment,
        form,
        here=reverse("adjudicate", args=[assignment.pk]),
        page=lambda more, status: _page(request, assignment, form, status=status, **more),
        lost=lambda error: _lost(request, assignment, str(error), form, status=HTTPStatus.GONE),
    )


def _decide(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Decide the case. The input stays in the form until the decision is stored."""
    form = DecideForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            adjudicating.decide(
                assignment=assignment, label=given["label"], reasons=given["reasons"], note=given["note"].strip()
            )
        except LeaseLostError as error:
            return _lost(request, assignment, str(error), form, status=HTTPStatus.GONE)
        except SubmissionError as error:
            form.add_error(None, getattr(error, "errors", None) or str(error))
        else:
            place = _after_decision(request, assignment)
            return HttpResponseClientRedirect(place) if request.htmx else redirect(place)
    if assignment.state != AssignmentState.EVIDENCE:
        return _lost(request, assignment, holding.why_lost(assignment), form, status=HTTPStatus.GONE)
    return _page(request, assignment, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


def _after_decision(request: HtmxRequest, assignment: Assignment) -> str:
    done = "Decided. The label is final, and the case is public."
    if request.POST.get("act") == "next":
        return workbench.next_place(request, assignment.reviewer, Role.ADJUDICATOR, done=done)
    messages.success(request, done)
    return reverse("reviews")


def _take_over(typed: QueryDict, assignment: Assignment) -> None:
    """Add to ``typed`` what its ``act`` takes over: ``take-A`` a label, ``take-A1`` the first finding of that label."""
    # A button before the form is sent before the form's own ``act``.
    key = next((act.removeprefix("take-") for act in typed.getlist("act") if act.startswith("take-")), "")
    shown = evidence(assignment)
    if label := dict(shown["labels"]).get(key):
        typed["label"] = label.label
    for placed in shown["findings"]:
        if placed.key == key:
            typed["note"] = "\n".join(filter(None, [typed.get("note", "").rstrip(), placed.finding.quote]))


def _page(
    request: HtmxRequest, assignment: Assignment, form: DecideForm, *, status: int = 200, **more: Any
) -> HttpResponse:
    """Render the page, or of it only the comparison if ``part`` requests it."""
    context = workbench.code_context(request, assignment)
    item, keys = context["item"], keys_of(assignment.reviewer, DECISION_KEYS)
    shown = evidence(assignment)
    place_findings(context["comparison"], shown["findings"])
    context |= shown | workbench.side_context(assignment, item)
    context |= {
        "form": form,
        "version": workbench.version_of(request, assignment, form),
        "here": reverse("adjudicate", args=[assignment.pk]),
        "choices": [(label, label.plain, keys[f"label_{label.lower()}"]) for label in Label],
        "keys": keys,
        "key_rows": key_rows(assignment.reviewer, DECISION_KEYS, has_other_changes=bool(item.other_changes)),
    }
    template = "reviews/label_diff.html" if request.GET.get("part") == "diff" else "reviews/adjudicate.html"
    return render(request, template, context | more, status=status)


def _lost(request: HtmxRequest, assignment: Assignment, why: str, form: DecideForm, *, status: int) -> HttpResponse:
    """Show the input, without the evidence."""
    if request.htmx:
        return workbench.saved(request, assignment, form, status, lost=why)
    context = {"assignment": assignment, "why": why, "form": form, "said": form.said}
    return render(request, "reviews/adjudicate_lost.html", context, status=status)


def _home(pk: int) -> str:  # noqa: ARG001 - action calls it with the view's arguments
    return reverse("reviews")


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
    """Lift the flag of a task, whose test or reference implementation counts as correct again."""
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
        again=lambda: render(request, "reviews/act_with_reason.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY),
    )


def _back(request: HttpRequest, address: str) -> str:
    """Return ``address`` if it is on this site, else the home page of reviewing."""
    allowed = url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return address if allowed and address.startswith("/") else reverse("reviews")
