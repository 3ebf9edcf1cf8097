"""The labelling page and its paper. ``reviews/labelling/items.py`` determines what a reviewer may see."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import resolve, reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, HttpResponseLocation

from evaluator.labels import Label
from reviews.annotators import guidelines, practice
from reviews.annotators.readiness import missing_steps
from reviews.annotators.reviewers import reviewer_of
from reviews.cases import holding
from reviews.enums import AssignmentState, CaseKind, Confidence, Role
from reviews.exceptions import IncompleteError, LeaseLostError, NotReadyError, StaleDraftError
from reviews.labelling import claiming, drafts, locking
from reviews.labelling.claiming import own_assignment
from reviews.labelling.forms import LabelForm
from reviews.labelling.items import LONGEST_FILE, BlindItem, blind_item, paper_file, paper_response
from reviews.labelling.keys import KEYS, keys_of
from reviews.labelling.locking import locked_label
from reviews.models import Assignment
from submissions.comparison import numbered
from submissions.views.acting import perform

if TYPE_CHECKING:
    from django.http import FileResponse, HttpRequest
    from django_htmx.middleware import HtmxDetails

    from reviews.models import Reviewer

    class HtmxRequest(HttpRequest):
        """A request that has passed django-htmx's middleware."""

        htmx: HtmxDetails


RUBRIC: Final = {
    Label.CC: "It could replace the golden function, however differently it is written.",
    Label.LC: "The idea is right, but a detail gives wrong results in some cases.",
    Label.LI: "It does not do what paper and instruction require, however similar it looks.",
}
"""The meaning of each label, in a sentence."""
_PDF = {
    "pdf_library": "vendor/pdfjs/pdf.min.mjs",
    "pdf_worker": "vendor/pdfjs/pdf.worker.min.mjs",
    "pdf_viewer": "vendor/pdfjs/pdf_viewer.mjs",
}


@require_POST
@login_required
@never_cache
def review_claim(request: HtmxRequest) -> HttpResponse:
    """Claim the next item, or a practice item before the first real one."""
    reviewer = reviewer_of(request.user)
    role = request.POST.get("role", Role.ANNOTATOR)
    if reviewer is None or role not in Role.values:
        raise Http404("There is no item for you.")
    return redirect(_next_place(request, reviewer, Role(role)))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def label(request: HtmxRequest, pk: int) -> HttpResponse:
    """Show the labelling page, the locked label (read-only), or a page to resume an ended item.

    The form posts here with ``act``: ``save`` (also automatic while typing), ``lock``, ``next`` (lock and take the next
    item), ``skip``, ``return`` or ``resume``. Without scripts each responds with a page. For htmx, a save responds with
    its result, and the others with the page or a redirect.
    """
    if not request.user.is_authenticated:
        # A script would mistake the sign-in page for the result.
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED) if request.htmx else redirect_to_login(request.path)
    assignment = own_assignment(request.user, pk)
    if request.method == "POST":
        acts = {"skip": _skip, "return": _return, "resume": _resume, "lock": _lock, "next": _lock}
        return acts.get(request.POST.get("act", ""), _save)(request, assignment)
    if assignment.state == AssignmentState.EVIDENCE:
        return redirect("adjudicate", pk=pk)
    if locked_label(assignment) is not None:
        return _locked(request, assignment)
    if assignment.state != AssignmentState.ACTIVE:
        return render(request, "reviews/label_ended.html", _context(request, assignment) | {"read_only": True})
    template = "reviews/label_diff.html" if request.GET.get("part") == "diff" else "reviews/label.html"
    return render(request, template, _page_context(request, assignment))


def _save(request: HtmxRequest, assignment: Assignment) -> HttpResponse:
    """Save the draft and renew the lease."""
    form = LabelForm(request.POST)
    if not form.is_valid() and locked_label(assignment) is None:
        return _saved(request, assignment, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    given = form.cleaned_data
    try:
        drafts.save_draft(
            assignment=assignment,
            draft=form.draft if form.is_valid() else {},
            version=given.get("version") or 0,
            active_seconds=given.get("active_seconds") or 0,
        )
        holding.extend(assignment)
    except StaleDraftError as error:
        assignment.draft_version = error.version
        return _saved(request, assignment, form, status=HTTPStatus.CONFLICT, conflict=LabelForm(draft=error.draft))
    except LeaseLostError as error:
        return _lost(request, assignment, form, error)
    if request.htmx:
        return _saved(request, assignment, form)
    place = reverse("label", args=[assignment.pk])
    if blanks := request.POST.get("whitespace_to"):
        return redirect(f"{place}?{urlencode({'whitespace': blanks})}")
    messages.success(request, "Draft saved.")
    return redirect(place)


def _saved(
    request: HtmxRequest, assignment: Assignment, form: LabelForm, *, status: int = 200, **more: Any
) -> HttpResponse:
    """Render the result of a save: a fragment for htmx, else the whole page with the input."""
    if not request.htmx:
        return render(request, "reviews/label.html", _page_context(request, assignment, form) | more, status=status)
    # Refused text keeps the version of the draft that it is based on.
    refused = status in {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}
    version = form["version"].value() if refused else assignment.draft_version
    context = {"assignment": assignment, "form": form, "version": version, "now": timezone.now(), **more}
    context["saved"] = status == HTTPStatus.OK
    return render(request, "reviews/label_saved.html", context, status=status)


def _lost(request: HtmxRequest, assignment: Assignment, form: LabelForm, error: LeaseLostError) -> HttpResponse:
    """Respond when the item is no longer held: the input is in the draft, or shown if the label is locked."""
    if request.htmx:
        return _saved(request, assignment, form, status=HTTPStatus.GONE, lost=str(error))
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
    context = _page_context(request, assignment, form)
    return render(request, "reviews/label.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)


def _after_lock(request: HtmxRequest, assignment: Assignment) -> str:
    if assignment.case.kind == CaseKind.PRACTICE:
        return reverse("practice_answer", args=[assignment.pk])
    if assignment.role == Role.ADJUDICATOR:
        return reverse("adjudicate", args=[assignment.pk])
    if request.POST.get("act") == "next":
        return _next_place(request, assignment.reviewer, Role.ANNOTATOR, done="Label locked.")
    messages.success(request, "Label locked.")
    return reverse("reviews")


def _go(request: HtmxRequest, place: str) -> HttpResponse:
    """Redirect to ``place``; htmx loads another item without reloading the page's frame."""
    if not request.htmx:
        return redirect(place)
    if resolve(urlsplit(place).path).url_name != "label":
        return HttpResponseClientRedirect(place)
    return HttpResponseLocation(place, target="#main", select="#main", swap="outerHTML")


def _next_place(request: HtmxRequest, reviewer: Reviewer, role: Role, *, done: str = "") -> str:
    """Return the address of the reviewer's next item or step, with a message if it is not an item."""
    try:
        assignment = claiming.claim(reviewer=reviewer, role=role)
    except NotReadyError as error:
        missing = missing_steps(reviewer)
        practised = practice.next_practice(reviewer) if missing and missing[0].name == "practice" else None
        if practised is not None:
            return reverse("label", args=[practised.pk])
        messages.error(request, str(error))
        return str(getattr(error, "address", reverse("reviews")))
    if assignment is None:
        messages.info(request, f"{done} Nothing waits for you now. Come back later.".strip())
        return reverse("reviews")
    name = "adjudicate" if assignment.state == AssignmentState.EVIDENCE else "label"
    return reverse(name, args=[assignment.pk])


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
        context = _page_context(request, assignment) | {"skip_error": str(error), "skip_reason": reason}
        return render(request, "reviews/label.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
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
    locked = {name: getattr(review, name) for name in ("label", "findings", "note")}
    context = _context(request, assignment) | {
        "review": review,
        "said": locked,
        "read_only": True,
        "late": late and late.typed,
    }
    return render(request, "reviews/label_locked.html", context, status=HTTPStatus.GONE if late else HTTPStatus.OK)


def _context(request: HtmxRequest, assignment: Assignment) -> dict[str, Any]:
    """Return the context that all versions of the page share."""
    item = blind_item(assignment)
    view = assignment.draft.get("view") or {}
    requested = request.GET.get("whitespace") or view.get("whitespace")
    ignores = requested == "ignored"
    return {
        "assignment": assignment,
        "item": item,
        "view": view,
        "comparison": item.compared(ignore_whitespace=ignores),
        "ignores_whitespace": ignores,
        "read_only": False,
        "keys": keys_of(assignment.reviewer),
    }


def _page_context(request: HtmxRequest, assignment: Assignment, form: LabelForm | None = None) -> dict[str, Any]:
    """Return the context of the editable page: form, choices, keys, guidelines, everything next to the code."""
    context = _context(request, assignment)
    item, keys, guideline = context["item"], context["keys"], guidelines.current()
    return context | {
        "form": form or LabelForm(draft=assignment.draft),
        "version": form["version"].value() if form and request.htmx else assignment.draft_version,
        "choices": [(label, label.meaning, text, keys[f"label_{label.lower()}"]) for label, text in RUBRIC.items()],
        "confidences": Confidence.choices,
        "key_rows": [
            (keys[action], key.does) for action, key in KEYS.items() if item.other_changes or action != "pane_changes"
        ],
        "guideline": guideline,
        "guideline_html": mark_safe(guidelines.rendered(guideline.text).body),  # noqa: S308 - the renderer cleans it
        "is_practice": assignment.case.kind == CaseKind.PRACTICE,
        "is_blind_adjudication": assignment.role == Role.ADJUDICATOR,
        "lease_seconds": settings.ENVIRONMENT.review_lease_seconds,
        "paper_text": _paper_text(assignment, item),
        "masked_lines": numbered(item.masked.text),
        **{name: static(path) for name, path in _PDF.items()},
    }


def _paper_text(assignment: Assignment, item: BlindItem) -> str:
    if item.paper_form != "text":
        return ""
    file = paper_file(assignment.case.implementation.revision)
    if file is None:
        return ""
    with file.open("rb") as opened:
        return opened.read(LONGEST_FILE).decode("utf-8", errors="replace")
