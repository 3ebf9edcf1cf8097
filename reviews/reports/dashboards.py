"""Compute the dashboard of reviewing: waiting cases, histories of cases, and annotators' consistency.

It reveals no label of a case that is not closed, and no case of a submission hidden from the viewer
(:func:`reviews.labelling.blindness.hidden_submissions`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import permutations
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Count, F, Min, Prefetch, Q, TextChoices
from django.utils import timezone

from reviews.cases.ratings import steps_between
from reviews.enums import CLOSED, OPEN, AssignmentState, CaseKind, CaseState, Role, Severity, TriggerKind
from reviews.models import Assignment, Case, CaseEvent, Decision, Review, Reviewer, Trigger

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from django.db.models import QuerySet

_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class Line:
    """Number of cases that wait in a state (of one severity, or all) or for a reason, and the time of the oldest.

    ``percent`` is relative to the longest line.
    """

    what: TextChoices
    severity: Severity | None
    count: int
    oldest: datetime
    percent: int


@dataclass(slots=True)
class Pairs:
    """Compared labels: ``n`` pairs, ``same`` of them equal, ``opposed`` of them CC against LI."""

    n: int = 0
    same: int = 0
    opposed: int = 0

    @property
    def percent(self) -> float | None:
        """Return the percentage of equal pairs; None without a pair."""
        return round(100 * self.same / self.n, 1) if self.n else None

    def add(self, one: str, other: str) -> None:
        """Count one pair."""
        self.n += 1
        self.same += one == other
        self.opposed += steps_between(one, other) > 1


@dataclass(slots=True)
class Work:
    """One reviewer's work. Only closed cases are compared; ``seconds`` is the median active time."""

    reviewer: Reviewer
    labels: int = 0
    last_days: int = 0
    decisions: int = 0
    seconds: int | None = None
    peers: Pairs = field(default_factory=Pairs)
    decided: Pairs = field(default_factory=Pairs)
    again: Pairs = field(default_factory=Pairs)
    skipped: int = 0
    expired: int = 0


def queue(*, hidden: Collection[int], by_severity: bool) -> list[Line]:
    """Count waiting cases by state, in the order of states, highest severity first. One query.

    Repeats are counted with the others, so that their annotator does not notice them.
    """
    names = ["state", "severity"] if by_severity else ["state"]
    waiting = visible_cases(hidden).filter(state__in=OPEN).order_by().values(*names)
    rows = waiting.annotate(what=F("state"), count=Count("pk"), oldest=Min("created"))
    return _lines(rows, CaseState)


def reasons(*, hidden: Collection[int]) -> list[Line]:
    """Count waiting cases by trigger, in the order of :class:`TriggerKind`; several triggers count each. One query.

    Only for viewers who do not label: a number that falls when a case is claimed reveals its trigger.
    """
    waiting = Trigger.objects.filter(case__in=visible_cases(hidden).filter(state__in=OPEN)).order_by().values("kind")
    rows = waiting.annotate(what=F("kind"), count=Count("pk"), oldest=Min("case__created"))
    return _lines(rows, TriggerKind)


def _lines(rows: Iterable[Any], kind: type[TextChoices]) -> list[Line]:
    """Return the lines in the order of ``kind``, highest severity first."""
    most = max((row["count"] for row in rows), default=1)
    lines = [
        Line(
            what=kind(row["what"]),
            severity=Severity(row["severity"]) if "severity" in row else None,
            count=row["count"],
            oldest=row["oldest"],
            percent=round(100 * row["count"] / most),
        )
        for row in rows
    ]
    return sorted(lines, key=lambda line: (kind.values.index(line.what), -(line.severity or 0)))


def visible_cases(hidden: Collection[int]) -> QuerySet[Case]:
    """Return every case, except practice cases and those of submissions with ids in ``hidden``."""
    return Case.objects.exclude(kind=CaseKind.PRACTICE).exclude(implementation__submission__in=hidden)


def cases(*, hidden: Collection[int], viewer: Reviewer | None, state: str = "") -> QuerySet[Case]:
    """Return cases with their events and number of labels, newest first, optionally of one ``state``.

    Open repeats reserved for ``viewer`` are left out.
    """
    events = CaseEvent.objects.select_related("reviewer").order_by("pk")
    found = visible_cases(hidden).annotate(
        labels=Count("reviews", filter=Q(reviews__role=Role.ANNOTATOR), distinct=True)
    )
    if viewer is not None:
        found = found.exclude(kind=CaseKind.REPEAT, reserved_for=viewer, closed=None)
    if state:
        found = found.filter(state=state)
    related = "implementation__submission__suite_version__suite", "implementation__revision__task__paper"
    return found.select_related(*related).prefetch_related(Prefetch("events", events)).order_by("-pk")


def work(reviewers: Iterable[Reviewer], *, hidden: Collection[int] = ()) -> list[Work]:
    """Summarise the work of each of ``reviewers``, in their order. Four queries for any number of reviewers.

    Labels on the submissions ``hidden`` are not compared.
    """
    rows = {reviewer.pk: Work(reviewer) for reviewer in reviewers}
    # Load only the compared columns, since notes and findings may be long.
    columns = ("case__kind", "case__implementation__submission_id", "case__state", "reviewer_id", "role", "label")
    reviews = Review.objects.exclude(case__kind=CaseKind.PRACTICE).select_related("case__implementation")
    reviews = reviews.order_by("locked", "pk")
    labels = list(reviews.only(*columns, "active_seconds", "locked"))
    _count(rows, labels)
    shown = (each for each in labels if each.case.implementation.submission_id not in hidden)
    _compare(rows, [each for each in shown if each.role == Role.ANNOTATOR and each.case.state in CLOSED])
    for person, number in Decision.objects.order_by().values_list("adjudicator").annotate(Count("pk")):
        if person in rows:
            rows[person].decisions = number
    ended = Assignment.objects.order_by().exclude(case__kind=CaseKind.PRACTICE).values_list("reviewer", "state")
    for person, state, number in ended.annotate(Count("pk")):
        if person in rows and state in {AssignmentState.SKIPPED, AssignmentState.EXPIRED}:
            setattr(rows[person], state, number)
    return list(rows.values())


def _count(rows: dict[int, Work], labels: Iterable[Review]) -> None:
    since = timezone.now() - timedelta(days=_DAYS)
    seconds: dict[int, list[int]] = defaultdict(list)
    for each in labels:
        if each.reviewer_id in rows:
            rows[each.reviewer_id].labels += 1
            rows[each.reviewer_id].last_days += each.locked > since
            seconds[each.reviewer_id].append(each.active_seconds)
    for person, spent in seconds.items():
        # Labels imported from other tools may have no time; a median of zeros would be meaningless.
        rows[person].seconds = round(median(spent)) if any(spent) else None


def _compare(rows: dict[int, Work], labels: Iterable[Review]) -> None:
    """Compare annotators' blind labels of closed cases with peers' labels, decisions, and their own earlier labels."""
    decisions = dict(Decision.objects.values_list("case", "label"))
    peers, decided, again = (defaultdict[int, Pairs](Pairs) for _ in range(3))
    by_case, first = defaultdict[int, list[Review]](list), dict[tuple[int, int], Review]()
    for each in labels:
        mine = (each.reviewer_id, each.case.implementation_id)
        if each.case.kind == CaseKind.REVIEW:
            by_case[each.case_id].append(each)
            first.setdefault(mine, each)
        elif mine in first:
            again[each.reviewer_id].add(each.label, first[mine].label)
    for case, given in by_case.items():
        for one, other in permutations(given, 2):
            peers[one.reviewer_id].add(one.label, other.label)
        for each in given if case in decisions else ():
            decided[each.reviewer_id].add(each.label, decisions[case])
    for person, row in rows.items():
        row.peers, row.decided, row.again = peers[person], decided[person], again[person]


def all_reviewers() -> list[Reviewer]:
    """Return every reviewer who labels or decides, or has done so. One query."""
    active = Q(active=True) & (Q(is_annotator=True) | Q(is_adjudicator=True))
    former = Q(pk__in=Review.objects.values("reviewer")) | Q(pk__in=Decision.objects.values("adjudicator"))
    return list(Reviewer.objects.filter(active | former).order_by("pseudonym"))
