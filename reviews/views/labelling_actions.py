"""Taking an item, saving, locking, and letting go of it. Plain forms, or JSON for the page's script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from reviews.enums import AssignmentState, CaseKind, Role
from reviews.exceptions import LabelError, LeaseLostError, NotReadyError, StaleDraftError
from reviews.label_forms import Sent, entry_of, is_json, sent_form, sent_json
from reviews.labelling import claiming, drafts, holding, locking
from reviews.people import practice
from reviews.people.readiness import what_is_missing
from reviews.people.reviewers import reviewer_of
from reviews.views.labelling import asked, locked, page, view_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from reviews.models import Assignment, Reviewer

BAD_REQUEST, CONFLICT, GONE = 400, 409, 410


@require_POST
@login_required
@never_cache
def review_claim(request: HttpRequest) -> HttpResponse:
    """Take the next item, or a practice item before the first real one."""
    reviewer = reviewer_of(request.user)
    role = request.POST.get("role", Role.ANNOTATOR)
    if reviewer is None or role not in Role.values:
        raise Http404("There is nothing to take.")
    return redirect(_next_place(request, reviewer, Role(role)))


@require_POST
@login_required
@never_cache
def label_draft(request: HttpRequest, pk: int) -> HttpResponse:
    """Keep what was typed, and the lease. JSON answers ``{version, lease_until}``; without a draft it only renews."""
    assignment = asked(request, pk)
    if not is_json(request):
        return _draft_by_form(request, assignment)
    try:
        sent = sent_json(request.body)
        version = assignment.draft_version
        if sent.draft is not None:
            version = _save(assignment, sent)
        until = holding.extend(assignment)
    except LabelError as error:
        return _wrong(error)
    except StaleDraftError as error:
        stored = {"message": str(error), "draft": error.draft, "version": error.version}
        return JsonResponse(stored, status=CONFLICT)
    except LeaseLostError as error:
        return _gone(assignment, error)
    return JsonResponse({"version": version, "lease_until": until.isoformat()})


@require_POST
@login_required
@never_cache
def label_lock(request: HttpRequest, pk: int) -> HttpResponse:
    """Lock the label for good. JSON answers ``{location}``, or ``{errors}`` by field; a form shows them beside it."""
    assignment = asked(request, pk)
    by_script = is_json(request)
    try:
        sent = sent_json(request.body) if by_script else sent_form(request.POST, view=view_of(assignment))
        place = _lock(request, assignment, sent)
    except LabelError as error:
        if by_script:
            return _wrong(error)
        return page(request, assignment, entry_of(sent.draft or {}, error.errors), status=BAD_REQUEST)
    except LeaseLostError as error:
        if by_script:
            return _gone(assignment, error)
        return _lost(request, assignment, sent, error)
    except NotReadyError as error:
        messages.error(request, str(error))
        place = getattr(error, "address", reverse("reviews"))
    return JsonResponse({"location": place}) if by_script else HttpResponseRedirect(place)


@require_POST
@login_required
@never_cache
def label_resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Take an item up again that expired or was handed back. JSON answers ``{version, lease_until}``."""
    assignment = asked(request, pk)
    try:
        if assignment.state == AssignmentState.ACTIVE:
            holding.extend(assignment)
        else:
            assignment = claiming.take_up(assignment)
    except (LeaseLostError, NotReadyError) as error:
        if is_json(request):
            return _gone(assignment, error)
        messages.error(request, str(error))
        return redirect(getattr(error, "address", reverse("label", args=[pk])))
    if is_json(request):
        until = assignment.lease_until
        return JsonResponse({"version": assignment.draft_version, "lease_until": until and until.isoformat()})
    return redirect("label", pk=assignment.pk)


@require_POST
@login_required
@never_cache
def label_return(request: HttpRequest, pk: int) -> HttpResponse:
    """Hand the item back to the queue."""
    try:
        holding.hand_back(asked(request, pk))
    except LeaseLostError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Handed back. Your draft is kept, should you take it again.")
    return redirect("reviews")


@require_POST
@login_required
@never_cache
def label_skip(request: HttpRequest, pk: int) -> HttpResponse:
    """Leave the item to others, for a reason."""
    assignment = asked(request, pk)
    reason = request.POST.get("reason", "")
    try:
        holding.skip(assignment, reason=reason)
    except LabelError as error:
        entry = entry_of(assignment.draft)
        return page(request, assignment, entry, status=BAD_REQUEST, skip_error=str(error), skip_reason=reason)
    except LeaseLostError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Skipped. Thank you for saying why.")
    return redirect("reviews")


def _next_place(request: HttpRequest, reviewer: Reviewer, role: Role) -> str:
    """The address of what ``reviewer`` is to do next; a message says why it is no item."""
    try:
        assignment = claiming.claim(reviewer=reviewer, role=role)
    except NotReadyError as error:
        missing = what_is_missing(reviewer)
        practised = practice.next_practice(reviewer) if missing and missing[0].name == "practice" else None
        if practised is not None:
            return reverse("label", args=[practised.pk])
        messages.error(request, str(error))
        return str(getattr(error, "address", reverse("reviews")))
    if assignment is None:
        messages.info(request, "Nothing waits for you now. Come back later.")
        return reverse("reviews")
    name = "adjudicate" if assignment.state == AssignmentState.EVIDENCE else "label"
    return reverse(name, args=[assignment.pk])


def _lock(request: HttpRequest, assignment: Assignment, sent: Sent) -> str:
    """Lock, and answer where to go on."""
    draft = sent.draft or {}
    locking.lock(
        assignment=assignment,
        label=draft.get("label", ""),
        confidence=draft.get("confidence"),
        findings=draft.get("findings", []),
        note=draft.get("note", ""),
        active_seconds=sent.active_seconds,
    )
    if assignment.case.kind == CaseKind.PRACTICE:
        return reverse("practice_answer", args=[assignment.pk])
    if assignment.role == Role.ADJUDICATOR:
        return reverse("adjudicate", args=[assignment.pk])
    messages.success(request, "Label locked.")
    if sent.next_item:
        return _next_place(request, assignment.reviewer, Role.ANNOTATOR)
    return reverse("reviews")


def _draft_by_form(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    sent = sent_form(request.POST, view=view_of(assignment))
    try:
        _save(assignment, sent)
        holding.extend(assignment)
    except LabelError as error:
        return page(request, assignment, entry_of(sent.draft or {}, error.errors), status=BAD_REQUEST)
    except StaleDraftError as error:
        assignment.draft_version = error.version
        return page(request, assignment, entry_of(sent.draft or {}), status=CONFLICT, conflict=error.draft)
    except LeaseLostError as error:
        return _lost(request, assignment, sent, error)
    else:
        if "whitespace" not in request.POST:
            messages.success(request, "Draft saved.")
    return redirect("label", pk=assignment.pk)


def _lost(request: HttpRequest, assignment: Assignment, sent: Sent, error: LeaseLostError) -> HttpResponse:
    """Where what was sent by form can be read: in the draft, or, once the label is locked, on the page itself."""
    if locked(assignment) is not None:
        return page(request, assignment, entry_of(sent.draft or {}))
    messages.error(request, str(error))
    return redirect("label", pk=assignment.pk)


def _save(assignment: Assignment, sent: Sent) -> int:
    return drafts.save_draft(
        assignment=assignment, draft=sent.draft or {}, version=sent.version, active_seconds=sent.active_seconds
    )


def _wrong(error: LabelError) -> JsonResponse:
    return JsonResponse({"message": str(error), "errors": error.errors}, status=BAD_REQUEST)


def _gone(assignment: Assignment, error: Exception) -> JsonResponse:
    assignment.refresh_from_db(fields=["draft_version"])
    return JsonResponse({"message": str(error), "version": assignment.draft_version}, status=GONE)
