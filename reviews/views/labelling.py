"""The labelling page, and the paper beside it. See ``reviews/labelling/items.py`` for what one may see."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.utils.safestring import mark_safe
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_safe

from evaluator.judging.labels import Label
from reviews.comparison import numbered
from reviews.enums import AssignmentState, CaseKind, Confidence, ErrorClass, FindingSide, Role
from reviews.label_forms import Entry, entry_of
from reviews.labelling import holding
from reviews.labelling.items import LONGEST_FILE, BlindItem, blind_item, paper_file, paper_form
from reviews.labelling.keys import ACTIONS, keys_of
from reviews.models import Assignment, Review
from reviews.people import guidelines
from reviews.people.reviewers import reviewer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.http import HttpRequest, HttpResponse

    from reviews.models import GuidelineRevision

CHOICES: Final = (
    (Label.LI, "Logically incorrect", "It does not do what paper and instruction ask, however it looks."),
    (
        Label.LC,
        "Logically correct",
        "The idea is right, but something keeps it from giving the right results everywhere.",
    ),
    (Label.CC, "Completely correct", "It would do in the golden function's place, however differently it is written."),
)
"""Each label, its name, and the rubric in a sentence."""
_PDF = {
    "pdf_library": "vendor/pdfjs/pdf.min.mjs",
    "pdf_worker": "vendor/pdfjs/pdf.worker.min.mjs",
    "pdf_viewer": "vendor/pdfjs/pdf_viewer.mjs",
}


@require_safe
@login_required
@never_cache
def label(request: HttpRequest, pk: int) -> HttpResponse:
    """The page on which one labels; what one has locked, read-only; or a way to take an item up again."""
    assignment = asked(request, pk)
    if assignment.state == AssignmentState.EVIDENCE:
        return redirect("adjudicate", pk=pk)
    review = locked(assignment)
    if review is not None:
        return _locked(request, assignment, review)
    if assignment.state != AssignmentState.ACTIVE:
        entry = entry_of(assignment.draft, blanks=False)
        return render(request, "reviews/label_ended.html", _context(request, assignment, entry) | {"read_only": True})
    if request.GET.get("part") == "diff":
        ignores = request.GET.get("whitespace") == "ignored"
        entry = entry_of(
            {**assignment.draft, "view": {**view_of(assignment), "whitespace": "ignored" if ignores else ""}}
        )
        return render(request, "reviews/label_diff.html", _context(request, assignment, entry))
    return _form(request, assignment, entry_of(assignment.draft))


def page(request: HttpRequest, assignment: Assignment, entry: Entry, *, status: int = 200, **more: Any) -> HttpResponse:
    """The page with ``entry`` in its fields. ``more`` joins the template's context.

    Once the label is locked there are no fields: then it is shown with ``entry`` beside it, as what came too late.
    """
    review = locked(assignment)
    if review is not None:
        return _locked(request, assignment, review, late=entry)
    return _form(request, assignment, entry, status=status, **more)


def locked(assignment: Assignment) -> Review | None:
    """The label that was locked for ``assignment``, if it was."""
    return Review.objects.filter(assignment=assignment).select_related("guideline").first()


def _form(
    request: HttpRequest, assignment: Assignment, entry: Entry, *, status: int = 200, **more: Any
) -> HttpResponse:
    context = _context(request, assignment, entry)
    context |= _form_context(assignment, context["item"]) | more
    return render(request, "reviews/label.html", context, status=status)


@require_safe
@login_required
@cache_control(private=True, max_age=3600)
def label_paper(request: HttpRequest, pk: int) -> FileResponse:
    """The paper of what one labels, under a name that says nothing."""
    assignment = asked(request, pk)
    revision = assignment.case.implementation.revision
    file = paper_file(revision)
    if file is None:
        raise Http404("No paper is stored for this task.")
    is_pdf = paper_form(revision) == "pdf"
    kind, name = ("application/pdf", "paper.pdf") if is_pdf else ("text/plain; charset=utf-8", "paper.txt")
    response = FileResponse(file.open("rb"), content_type=kind, filename=name)
    response["X-Content-Type-Options"] = "nosniff"
    return response


def asked(request: HttpRequest, pk: int) -> Assignment:
    """One's own assignment. Raises Http404 for everybody else's, whoever asks."""
    reviewer = reviewer_of(request.user)
    if reviewer is None:
        raise Http404("There is no such item.")
    try:
        return holding.held(pk=pk, reviewer=reviewer)
    except Assignment.DoesNotExist as error:
        raise Http404("There is no such item.") from error


def _locked(request: HttpRequest, assignment: Assignment, review: Review, *, late: Entry | None = None) -> HttpResponse:
    said = {
        "label": review.label,
        "confidence": review.confidence,
        "findings": review.findings,
        "note": review.note,
        "view": view_of(assignment),
    }
    context = _context(request, assignment, entry_of(said, blanks=False))
    choice = next(choice for choice in _choices({}) if choice["label"] == review.label)
    context |= {"review": review, "choice": choice, "read_only": True, "late": late}
    return render(request, "reviews/label_locked.html", context, status=HTTPStatus.GONE if late else HTTPStatus.OK)


def _context(request: HttpRequest, assignment: Assignment, entry: Entry) -> dict[str, Any]:
    """What every form of the page shows."""
    item = blind_item(assignment)
    asked_for = request.GET.get("whitespace", "")
    ignores = (asked_for or str(entry.view.get("whitespace", ""))) == "ignored"
    return {
        "assignment": assignment,
        "item": item,
        "entry": entry,
        "comparison": item.compared(ignore_whitespace=ignores),
        "ignores_whitespace": ignores,
        "read_only": False,
        "keys": keys_of(assignment.reviewer),
    }


def _form_context(assignment: Assignment, item: BlindItem) -> dict[str, Any]:
    """What the page shows where one types: choices, keys, guidelines, everything beside the code."""
    keys = keys_of(assignment.reviewer)
    named = {name: text for name, text in ACTIONS.items() if item.other_changes or name != "pane_changes"}
    guideline = guidelines.current()
    return {
        "choices": _choices(keys),
        "confidences": Confidence.choices,
        "sides": FindingSide.choices,
        "error_classes": ErrorClass.choices,
        "blank": {"side": FindingSide.CANDIDATE.value},
        "key_rows": [(keys[action], name) for action, name in named.items()],
        "guideline": guideline,
        "guideline_html": _guideline_html(guideline),
        "is_practice": assignment.case.kind == CaseKind.PRACTICE,
        "is_blind_adjudication": assignment.role == Role.ADJUDICATOR,
        "lease_seconds": settings.ENVIRONMENT.review_lease_seconds,
        "stored": {"draft": assignment.draft, "version": assignment.draft_version},
        "paper_text": _paper_text(assignment, item),
        "masked_lines": numbered(item.masked.text),
        **{name: static(path) for name, path in _PDF.items()},
    }


def _choices(keys: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {
            "label": choice.value,
            "name": name,
            "meaning": meaning,
            "key": keys.get(f"label_{choice.value.lower()}", ""),
        }
        for choice, name, meaning in CHOICES
    ]


def _guideline_html(guideline: GuidelineRevision) -> str:
    return mark_safe(guidelines.shown(guideline).body)  # noqa: S308 - the renderer cleans it


def _paper_text(assignment: Assignment, item: BlindItem) -> str:
    if item.paper_form != "text":
        return ""
    file = paper_file(assignment.case.implementation.revision)
    if file is None:
        return ""
    with file.open("rb") as opened:
        return opened.read(LONGEST_FILE).decode("utf-8", errors="replace")


def view_of(assignment: Assignment) -> dict[str, Any]:
    """How the page was shown last, as the draft has it."""
    view = assignment.draft.get("view")
    return view if isinstance(view, dict) else {}
