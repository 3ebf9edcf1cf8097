"""What the pages of labelling and of adjudication share: the next item, what is read, and saving the draft."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.safestring import mark_safe

from reviews.annotators import guidelines, practice
from reviews.annotators.readiness import missing_steps
from reviews.cases import holding
from reviews.enums import AssignmentState
from reviews.exceptions import LeaseLostError, NotReadyError, StaleDraftError
from reviews.labelling import claiming, drafts
from reviews.labelling.items import LONGEST_FILE, BlindItem, blind_item, paper_file
from submissions.comparison import numbered

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest
    from django_htmx.middleware import HtmxDetails

    from reviews.enums import Role
    from reviews.labelling.forms import DecideForm, LabelForm
    from reviews.models import Assignment, Reviewer

    class HtmxRequest(HttpRequest):
        """A request that has passed django-htmx's middleware."""

        htmx: HtmxDetails


_PDF: Final = {
    "pdf_library": "vendor/pdfjs/pdf.min.mjs",
    "pdf_worker": "vendor/pdfjs/pdf.worker.min.mjs",
    "pdf_viewer": "vendor/pdfjs/pdf_viewer.mjs",
}


def signed_out(request: HtmxRequest) -> HttpResponse:
    """Send a user who is signed out to the sign-in page, which a script would mistake for a result."""
    return HttpResponse(status=HTTPStatus.UNAUTHORIZED) if request.htmx else redirect_to_login(request.path)


def next_place(request: HtmxRequest, reviewer: Reviewer, role: Role, *, done: str = "") -> str:
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


def code_context(request: HttpRequest, assignment: Assignment) -> dict[str, Any]:
    """Return the item and its comparison, as the draft or the address says that it is viewed."""
    item = blind_item(assignment)
    view = assignment.draft.get("view") or {}
    ignores = (request.GET.get("whitespace") or view.get("whitespace")) == "ignored"
    return {
        "assignment": assignment,
        "item": item,
        "view": view,
        "comparison": item.compared(ignore_whitespace=ignores),
        "ignores_whitespace": ignores,
        "read_only": False,
    }


def side_context(assignment: Assignment, item: BlindItem) -> dict[str, Any]:
    """Return what both pages show beside the code: guidelines, paper, masked file."""
    guideline = guidelines.current()
    return {
        "guideline": guideline,
        "guideline_html": mark_safe(guidelines.rendered(guideline.text).body),  # noqa: S308 - the renderer cleans it
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


def version_of(request: HtmxRequest, assignment: Assignment, form: LabelForm | DecideForm) -> object:
    """Return the version to send next. By htmx, a page that shows refused input keeps the version it is based on."""
    return form["version"].value() if form.is_bound and request.htmx else assignment.draft_version


def save(
    request: HtmxRequest,
    assignment: Assignment,
    form: LabelForm | DecideForm,
    *,
    here: str,
    page: Callable[[dict[str, Any], int], HttpResponse],
    lost: Callable[[LeaseLostError], HttpResponse],
) -> HttpResponse:
    """Save the draft and renew the lease. Respond with a fragment to htmx, else redirect ``here``.

    Refused input is shown by ``page``, with more context and a status; an item that is not held any more by ``lost``.
    """

    def refused(status: int, **more: Any) -> HttpResponse:
        if request.htmx:
            return saved(request, assignment, form, status, **more)
        return page({**more, "saving": True}, status)

    if not form.is_valid():
        return refused(HTTPStatus.UNPROCESSABLE_ENTITY)
    given = form.cleaned_data
    try:
        drafts.save_draft(
            assignment=assignment,
            draft=form.draft,
            version=given["version"] or 0,
            active_seconds=given["active_seconds"] or 0,
        )
        holding.extend(assignment)
    except StaleDraftError as error:
        assignment.draft_version = error.version
        return refused(HTTPStatus.CONFLICT, conflict=type(form)(draft=error.draft))
    except LeaseLostError as error:
        return lost(error)
    if request.htmx:
        return saved(request, assignment, form, HTTPStatus.OK)
    if blanks := request.POST.get("whitespace_to"):
        return redirect(f"{here}?{urlencode({'whitespace': blanks})}")
    messages.success(request, "Draft saved.")
    return redirect(here)


def saved(
    request: HtmxRequest, assignment: Assignment, form: LabelForm | DecideForm, status: int, **more: Any
) -> HttpResponse:
    """Render the result of a save for htmx: the state beside the buttons, and the banners."""
    # Refused text keeps the version of the draft that it is based on.
    refused = status in {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}
    version = form["version"].value() if refused else assignment.draft_version
    context = {"assignment": assignment, "form": form, "version": version, "now": timezone.now(), **more}
    context["saved"] = status == HTTPStatus.OK
    return render(request, "reviews/label_saved.html", context, status=status)
