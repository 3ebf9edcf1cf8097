"""A person's own submissions, filtered and sorted as the address asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Lower

from evaluator.enums import RunState
from leaderboard.models import EntryMetric
from submissions.models import Submission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from submissions.models import Upload, User

SORT_KEYS: Final = ("date", "system", "state")
DEFAULT_SORT: Final = "-date"
_COLUMNS: Final[Mapping[str, str | Lower]] = {"date": "created", "system": Lower("system__name"), "state": "state"}


def own_submissions(*, user: User, filters: Mapping[str, str], sort: str = DEFAULT_SORT) -> QuerySet[Submission]:
    """The submissions of ``user``. ``filters`` may have ``suite``, ``state``, ``visibility`` (exact) and ``q`` (words).

    Each has ``answers`` (that were sent), ``done`` (how many of them are decided), and, when scored, ``tests_passed``
    of ``tests_tasks``.
    """
    overall = EntryMetric.objects.filter(entry__submission=OuterRef("pk"), category__isnull=True)
    sent, decided = Q(implementations__attempted=True), Q(implementations__test_runs__state=RunState.DONE)
    found = (
        Submission.objects.filter(owner=user)
        .select_related("system", "suite_version__suite")
        .annotate(
            answers=Count("implementations", filter=sent, distinct=True),
            done=Count("implementations", filter=sent & decided, distinct=True),
            tests_passed=Subquery(overall.values("tests_passed")[:1]),
            tests_tasks=Subquery(overall.values("tasks")[:1]),
        )
    )
    exact = {"suite": "suite_version__suite__slug", "state": "state", "visibility": "visibility"}
    found = found.filter(**{column: filters[key] for key, column in exact.items() if filters.get(key)})
    for word in filters.get("q", "").split():
        found = found.filter(Q(system__name__icontains=word) | Q(system__backbone__icontains=word))
    ordered = found.order_by(_COLUMNS[sort.removeprefix("-")], "pk")
    return ordered.reverse() if sort.startswith("-") else ordered


def upload_state(upload: Upload, *, quota: int) -> str:
    """What can be done with a checked upload, in words; ``quota`` is how much is left today."""
    if not upload.checked:
        return "not checked yet"
    if not upload.report["acceptable"]:
        return "cannot be submitted as it is"
    answers = upload.report["answers"]
    applying = sum(answer["applies"] for answer in answers)
    if applying == len(answers):
        found = "ready to be submitted"
    elif applying:
        found = f"{applying} of {len(answers)} answers apply, the others would count as failed"
    else:
        found = "none of its answers applies: submitted as it is, all would count as failed"
    return found if quota else f"{found}; the quota of today is used"
