"""Pages of the guidelines: show revisions, confirm reading, publish the next one."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reviews.annotators import guidelines as domain
from reviews.annotators.reviewers import reviewer_of
from reviews.exceptions import ReviewError
from reviews.forms import GuidelinesForm
from reviews.models import GuidelineRevision
from reviews.views.guards import reviewers_only
from submissions.permissions import maintainers_only, user_of
from submissions.views.acting import action

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from reviews.models import Reviewer


@never_cache
@require_safe
def guidelines(request: HttpRequest) -> HttpResponse:
    """Show the current revision, with its changes first for reviewers who have read an earlier one."""
    reviewer = reviewer_of(request.user)
    before = domain.last_read(reviewer) if reviewer and domain.unread(reviewer) else None
    return _shown(request, domain.current(), since=before)


@never_cache
@require_safe
def revision(request: HttpRequest, number: int) -> HttpResponse:
    """Show one revision; ``?since=`` adds a comparison with an earlier one."""
    domain.current()
    shown = _revision(number)
    since = request.GET.get("since", "")
    if not since:
        return _shown(request, shown)
    if not (since.isascii() and since.isdigit() and len(since) < 9):
        raise Http404(f"“{since[:20]}” is not the number of a revision.")
    return _shown(request, shown, since=_revision(int(since)))


def _revision(number: int) -> GuidelineRevision:
    found = GuidelineRevision.objects.filter(number=number).first()
    if found is None:
        raise Http404(f"There is no revision {number} of the guidelines.")
    return found


def _shown(request: HttpRequest, shown: GuidelineRevision, since: GuidelineRevision | None = None) -> HttpResponse:
    reviewer = reviewer_of(request.user)
    unread = domain.unread(reviewer) if reviewer else None
    revisions = list(GuidelineRevision.objects.defer("text").select_related("created_by"))
    rendered = domain.rendered(shown.text)
    context = {
        "revision": shown,
        "in_force": revisions[0].number == shown.number,
        "newest": revisions[0],
        "revisions": revisions,
        "has_title": bool(rendered.title),
        "body": mark_safe(rendered.body),  # noqa: S308 - cleaned by nh3
        "since": since,
        "difference": domain.difference(since.text, shown.text) if since else None,
        "to_read": unread is not None and unread.number == shown.number,
    }
    return render(request, "reviews/guidelines.html", context)


@action(lambda number: reverse("review_guideline", args=[number]))
@reviewers_only
def read(request: HttpRequest, reviewer: Reviewer, number: int) -> HttpResponse:
    """Record that the reviewer has read a revision."""
    shown = _revision(number)
    before = domain.last_read(reviewer)
    try:
        domain.acknowledge(reviewer, shown)
    except ReviewError as error:
        messages.warning(request, str(error))
        newest = reverse("review_guideline", args=[domain.current().number])
        return redirect(f"{newest}?since={before.number if before else number}")
    messages.success(request, f"Recorded: you have read revision {number}.")
    return redirect("reviews")


@never_cache
@maintainers_only
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest) -> HttpResponse:
    """Publish the next revision; the "preview" button shows it and its changes without publishing it."""
    newest = domain.current()
    form, status, preview, difference = GuidelinesForm.of(newest), HTTPStatus.OK, "", None
    if request.method == "POST":
        form = GuidelinesForm(request.POST)
        if "preview" in request.POST:
            text = request.POST.get("text", "")[: domain.LONGEST_TEXT].replace("\r\n", "\n")
            preview, difference = domain.rendered(text).body, domain.difference(newest.text, text)
            form = GuidelinesForm(initial={name: request.POST.get(name, "") for name in form.fields})
        elif form.is_valid():
            try:
                made = domain.publish(actor=user_of(request), **form.cleaned_data)
            except ReviewError as error:
                form.add_error(None, str(error))
            else:
                messages.success(
                    request, f"Revision {made.number} is in force. Annotators read it before their next item."
                )
                return redirect("review_guideline", made.number)
        if form.errors:
            status = HTTPStatus.UNPROCESSABLE_ENTITY
    context = {
        "form": form,
        "newest": newest,
        "preview": mark_safe(preview),  # noqa: S308 - cleaned by nh3
        "previewing": "preview" in request.POST,
        "difference": difference,
    }
    return render(request, "reviews/guidelines_edit.html", context, status=status)
