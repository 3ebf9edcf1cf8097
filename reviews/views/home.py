"""Pages of reviewing: home, invitation, and the solution of a practice item."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.db.models import Count, Sum
from django.http import Http404
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from reviews.annotators import invitations, practice, readiness, reviewers
from reviews.enums import LIVE, CaseKind
from reviews.exceptions import ReviewError
from reviews.labelling.claiming import own_assignment, queue_counts
from reviews.labelling.forms import in_words
from reviews.labelling.items import blind_item
from reviews.models import Assignment, Review, Reviewer
from reviews.views.guards import reviewers_only
from submissions.domain import invitation_links
from submissions.permissions import user_of
from submissions.views.acting import SIGNED_OUT

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@never_cache
@require_safe
def reviews(request: HttpRequest) -> HttpResponse:
    """Explain reviewing to visitors; show annotators the next step, their item, and the number of waiting cases."""
    reviewer = reviewers.reviewer_of(request.user)
    if reviewer is None:
        ended = request.user.is_authenticated and Reviewer.objects.filter(user=user_of(request), active=False).exists()
        return render(request, "reviews/home.html", {"ended": ended})
    return render(request, "reviews/home.html", _of(reviewer))


def _of(reviewer: Reviewer) -> dict[str, Any]:
    missing = readiness.missing_steps(reviewer)
    return {
        "reviewer": reviewer,
        "roles": reviewer.roles,
        "missing": missing,
        "practising": bool(missing) and missing[0].name == "practice",
        "held": _held(reviewer),
        "counts": queue_counts(reviewer),
        "today": _today(reviewer),
        "now": timezone.now(),
    }


def _held(reviewer: Reviewer) -> Assignment | None:
    return Assignment.objects.filter(reviewer=reviewer, state__in=LIVE).select_related("case").order_by("-pk").first()


def _today(reviewer: Reviewer) -> dict[str, int]:
    """Count locked labels and minutes of work since midnight, without practice."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    locked = Review.objects.filter(reviewer=reviewer, locked__gte=midnight).exclude(case__kind=CaseKind.PRACTICE)
    sums = locked.order_by().aggregate(labels=Count("pk"), seconds=Sum("active_seconds"))
    return {"labels": sums["labels"], "minutes": round((sums["seconds"] or 0) / 60)}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Show and accept an invitation. Users who are signed out return here after signing in."""
    invitation = invitations.invitation_of(secret)
    if invitation is None:
        raise Http404("There is no such invitation. Open the complete link that you received.")
    problem, status = invitation_links.problem_with(invitation), HTTPStatus.OK
    mine = request.user.is_authenticated and invitation.used_by and invitation.used_by.user_id == request.user.pk
    if mine:
        return redirect("reviews")
    if problem:
        status = HTTPStatus.GONE
    elif request.method == "POST":
        if not request.user.is_authenticated:
            messages.warning(request, SIGNED_OUT)
            return redirect_to_login(request.path)
        try:
            reviewer = invitations.accept(user=user_of(request), secret=secret)
        except ReviewError as error:
            problem, status = str(error), HTTPStatus.CONFLICT
        else:
            messages.success(request, f"Welcome. Others will see you as {reviewer.public_name}.")
            return redirect("reviews")
    context = {"invitation": invitation, "roles": invitation.roles, "problem": problem}
    return render(request, "reviews/join.html", context, status=status)


@never_cache
@reviewers_only
@require_safe
def practice_answer(request: HttpRequest, reviewer: Reviewer, pk: int) -> HttpResponse:
    """Show the reviewer's label with the known one; redirect to the item before the label is locked."""
    assignment = own_assignment(request.user, pk)
    if assignment.case.kind != CaseKind.PRACTICE:
        raise Http404
    review = Review.objects.filter(case=assignment.case, reviewer=reviewer).first()
    if review is None:
        return redirect("label", pk)
    context = {
        "case": assignment.case,
        "review": review,
        "said": in_words({"findings": review.findings, "note": review.note}),
        "right": review.label == assignment.case.known_label,
        "item": blind_item(assignment),
        "number": practice.practice_cases().filter(pk__lte=assignment.case_id).count(),
        "progress": practice.progress(reviewer),
        "seen": practice.seen(reviewer),
        "role": next(iter(reviewer.roles), None),
    }
    return render(request, "reviews/practice_answer.html", context)
