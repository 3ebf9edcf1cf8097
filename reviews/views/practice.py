"""After each practice item: what is right, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from reviews.enums import CaseKind
from reviews.labelling.items import blind_item
from reviews.models import Assignment, Review
from reviews.people import practice
from reviews.people.reviewers import roles_of
from reviews.views.guards import reviewers_only

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from reviews.models import Reviewer


@never_cache
@reviewers_only
@require_safe
def practice_answer(request: HttpRequest, reviewer: Reviewer, pk: int) -> HttpResponse:
    """The own label beside the known one; before it is locked, the item itself."""
    found = Assignment.objects.filter(pk=pk, reviewer=reviewer, case__kind=CaseKind.PRACTICE)
    assignment = found.select_related(
        "case__implementation__revision__task__paper", "case__implementation__revision__category"
    ).first()
    if assignment is None:
        raise Http404
    review = Review.objects.filter(case=assignment.case, reviewer=reviewer).first()
    if review is None:
        return redirect("label", pk)
    roles = roles_of(reviewer)
    context = {
        "case": assignment.case,
        "review": review,
        "right": review.label == assignment.case.known_label,
        "item": blind_item(assignment),
        "number": practice.practice_cases().filter(pk__lte=assignment.case_id).count(),
        "progress": practice.progress(reviewer),
        "seen": practice.seen(reviewer),
        "role": roles[0] if roles else None,
    }
    return render(request, "reviews/practice_answer.html", context)
