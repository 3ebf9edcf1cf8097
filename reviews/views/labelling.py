"""The labelling page and its paper. ``reviews/labelling/items.py`` determines what an annotator may see."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import resolve, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect, HttpResponseLocation

from evaluator.labels import Label
from reviews.annotators.reviewers import reviewer_of
from reviews.cases import holding
from reviews.enums import AssignmentState, CaseKind, Confidence, Role
from reviews.exceptions import IncompleteError, LeaseLostError, NotReadyError
from reviews.labelling import claiming, locking
from reviews.labelling.claiming import own_assignment
from reviews.labelling.forms import LabelForm, in_words
from reviews.labelling.items import paper_response
from reviews.labelling.keys import key_rows, keys_of
from reviews.labelling.locking import locked_label
from reviews.views import workbench
from submissions.views.acting import action, perform

if TYPE_CHECKING:
    from django.http import FileResponse

    from reviews.models import Assignment
    from reviews.views.workbench import HtmxRequest

RUBRIC: Final = {
    Label.CC: "It could replace the reference implementation, however differently it is written.",
    Label.LC: "The idea is right, but a detail gives wrong results in some cases.",
    Label.LI: "It does not do what paper and instruction require, however similar it looks.",
}
"""The meaning of each label, in a sentence."""


@action("reviews")
@never_cache
def review_claim(request: HtmxRequest) -> HttpResponse:
    """Claim the next item, or a practice item before the first real one."""
    reviewer = reviewer_of(request.user)
    role = request.POST.get("role", Role.ANNOTATOR)
    if reviewer is None or role not in Role.values:
        raise Http404("There is no item for you.")
    return redirect(workbench.next_place(request, reviewer, Role(role)))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def label(request: HtmxRequest, pk: int) -> HttpResponse:
    """Show the labelling page, the locked label (read-only), or a page to resume an ended item.

    The form posts here with ``act``: ``save`` (also automatic while typing), ``lock``, ``next`` (lock and take the next
    item), ``skip``, ``return`` or ``resume``. Without scripts each responds with a page. For htmx, a save responds with
    its result, and the others with the page or a redirect.
    """
    if not request.user.is_authenticated:
        return workbench.signed_out(request)
    assignment = own_assignment(request.user, pk)
    if request.method == "POST":
        acts = {"skip": _skip, "return": _return, "resume": _resume, "lock": _lock, "next": _lock}
        return acts.get(request.POST.get("act", ""), _save)(request, assignment)
    if assignment.state == AssignmentState.EVIDENCE:
        return redirect("adjudicate", pk=pk)
    if locked_label(assignment) is not None:
        return _locked(request, assignment)
    if assignment.state != AssignmentState.ACTIVE:
        context = {**workbench.code_context(request, assignment), "said": in_words(assignment.draft)}
        return render(request, "reviews/label_ended.html", context)
    return _page(request, assignment)


def _save(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Save the draft and renew the lease."""
    form = LabelForm(request.POST)
    if locked_label(assignment) is not None:
        return _lost(request, assignment, form, LeaseLostError(holding.why_lost(assignment)))
    return workbench.save(
        request,
        assignment,
        form,
        here=reverse("label", args=[assignment.pk]),
        page=lambda more, status: _page(request, assignment, form, status=status, **more),
        lost=lambda error: _lost(request, assignment, form, error),
    )


def _lost(request: HtmxRequest, assignment: Assignment, form: LabelForm, error: LeaseLostError) -> HttpResponse:
    """Respond when the item is no longer held: the input is in the draft, or shown if the label is locked."""
    if request.htmx:
        return workbench.saved(request, assignment, form, HTTPStatus.GONE, lost=str(error))
    if locked_label(assignment) is not None:
        return _locked(request, assignment, late=form)
    messages.error(request, str(error))
    return redirect("label", pk=assignment.pk)


def _lock(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Lock the label permanently and continue; show incomplete fields as errors."""
    form = LabelForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            locking.lock(
                assignment=assignment,
                label=given["label"],
                confidence=given["confidence"],
                findings=form.rows,
                note=given["note"],
                active_seconds=given["active_seconds"] or 0,
            )
        except IncompleteError as error:
            form.add_errors(error.errors)
        except LeaseLostError as error:
            return _lost(request, assignment, form, error)
        except NotReadyError as error:
            messages.error(request, str(error))
            return _go(request, getattr(error, "address", reverse("reviews")))
        else:
            return _go(request, _after_lock(request, assignment))
    if locked_label(assignment) is not None:
        return _lost(request, assignment, form, LeaseLostError(holding.why_lost(assignment)))
    return _page(request, assignment, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


def _after_lock(request: HtmxRequest, assignment: Assignment) -> str:
    if assignment.case.kind == CaseKind.PRACTICE:
        return reverse("practice_answer", args=[assignment.pk])
    if assignment.role == Role.ADJUDICATOR:
        return reverse("adjudicate", args=[assignment.pk])
    if request.POST.get("act") == "next":
        return workbench.next_place(request, assignment.reviewer, Role.ANNOTATOR, done="Label locked.")
    messages.success(request, "Label locked.")
    return reverse("reviews")


def _go(request: HtmxRequest, place: str) -> HttpResponse:
    """Redirect to ``place``; htmx loads another item without reloading the page's frame."""
    if not request.htmx:
        return redirect(place)
    if resolve(urlsplit(place).path).url_name != "label":
        return HttpResponseClientRedirect(place)
    return HttpResponseLocation(place, target="#main", select="#main", swap="outerHTML")


def _resume(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Resume an item that expired or was handed back."""
    place = reverse("label", args=[assignment.pk])
    try:
        if assignment.state == AssignmentState.ACTIVE:
            holding.extend(assignment)
        else:
            claiming.resume(assignment)
    except (LeaseLostError, NotReadyError) as error:
        messages.error(request, str(error))
        place = getattr(error, "address", place)
    return redirect(place)


def _return(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Hand the item back to the queue."""
    done = "Handed back. Your draft is kept in case you take the item again."
    return perform(request, lambda: holding.hand_back(assignment), back="reviews", done=done)


def _skip(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Skip the item, with a reason."""
    reason = request.POST.get("reason", "")
    try:
        holding.skip(assignment, reason=reason)
    except IncompleteError as error:
        if assignment.state != AssignmentState.ACTIVE:
            messages.error(request, str(error))
            return redirect("label", pk=assignment.pk)
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return _page(request, assignment, status=status, skip_error=str(error), skip_reason=reason)
    except LeaseLostError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Skipped. Thank you for giving a reason.")
    return redirect("reviews")


@require_safe
@login_required
def label_paper(request: HtmxRequest, pk: int) -> FileResponse:
    """Serve the paper of an item."""
    return paper_response(own_assignment(request.user, pk))


def _locked(request: HtmxRequest, assignment: Assignment, *, late: LabelForm | None = None) -> HttpResponse:
    """Show the locked label; ``late`` is input sent afterwards, which is not stored."""
    review = locked_label(assignment)
    assert review is not None  # noqa: S101 - for the type checker: callers have checked
    context = workbench.code_context(request, assignment) | {
        "review": review,
        "said": in_words({"findings": review.findings, "note": review.note}),
        "read_only": True,
        "late": late and late.said,
    }
    return render(request, "reviews/label_locked.html", context, status=HTTPStatus.GONE if late else HTTPStatus.OK)


def _page(
    request: HtmxRequest, assignment: Assignment, form: LabelForm | None = None, *, status: int = 200, **more: Any
) -> HttpResponse:
    """Render the labelling page, or of it only the comparison if ``part`` requests it."""
    context = workbench.code_context(request, assignment)
    item, keys = context["item"], keys_of(assignment.reviewer)
    form = form or LabelForm(draft=assignment.draft)
    context |= workbench.side_context(assignment, item) | {
        "form": form,
        "version": workbench.version_of(request, assignment, form),
        "here": reverse("label", args=[assignment.pk]),
        "choices": [(label, label.plain, text, keys[f"label_{label.lower()}"]) for label, text in RUBRIC.items()],
        "confidences": Confidence.choices,
        "keys": keys,
        "key_rows": key_rows(assignment.reviewer, has_other_changes=bool(item.other_changes)),
        "is_practice": assignment.case.kind == CaseKind.PRACTICE,
        "is_blind_adjudication": assignment.role == Role.ADJUDICATOR,
    }
    template = "reviews/label_diff.html" if request.GET.get("part") == "diff" else "reviews/label.html"
    return render(request, template, context | more, status=status)
