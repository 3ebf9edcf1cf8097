"""How reviewing goes: what waits, what happens to each case, and how steady the people are.

Nothing here shows what somebody said of a case that is not closed, nor the cases of an answer that the viewer is
labelling (:func:`reviews.labelling.blindness.unlocked_answers`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Final

from django.db.models import Count, Min, Prefetch, Q
from django.utils import timezone

from reviews.cases.ratings import steps_between
from reviews.enums import CLOSED, OPEN, AssignmentState, CaseKind, CaseState, Role, Severity, TriggerKind
from reviews.models import Assignment, Case, CaseEvent, Decision, Review, Reviewer, Trigger

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import datetime

    from django.db.models import QuerySet

_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class QueueLine:
    """How many cases are in a state (of one severity, or of all), since when the oldest, and the share of the most."""

    state: CaseState
    severity: Severity | None
    count: int
    oldest: datetime
    percent: int


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """How many cases wait for one reason, perhaps for others too, since when the oldest, and the share of the most."""

    kind: TriggerKind
    count: int
    oldest: datetime
    percent: int


@dataclass(slots=True)
class Pairs:
    """Labels compared with others: ``n`` pairs, of which ``same``, and ``opposed`` with CC against LI."""

    n: int = 0
    same: int = 0
    opposed: int = 0

    @property
    def percent(self) -> float | None:
        """How many of a hundred are the same; None without a pair."""
        return round(100 * self.same / self.n, 1) if self.n else None

    def add(self, one: str, other: str) -> None:
        """Count one pair."""
        self.n += 1
        self.same += one == other
        self.opposed += steps_between(one, other) > 1


@dataclass(slots=True)
class Work:
    """What one person has done. Comparisons are of closed cases only; ``seconds`` is the median of active time."""

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


@dataclass(frozen=True, slots=True)
class _Said:
    """A locked label, as far as it is compared."""

    case: int
    kind: str
    answer: int
    closed: bool
    person: int
    role: str
    label: str
    seconds: int
    locked: datetime


def queue(*, closed: Collection[int], by_severity: bool) -> list[QueueLine]:
    """What waits, state by state in the order of a case's life; the most urgent first. One query.

    Repeats are counted with the others: somebody who waits for one shall not see it.
    """
    names = ["state", "severity"] if by_severity else ["state"]
    rows = (
        visible_cases(closed)
        .filter(state__in=OPEN)
        .order_by()
        .values(*names)
        .annotate(count=Count("pk"), oldest=Min("created"))
    )
    most = max((row["count"] for row in rows), default=1)
    lines = [
        QueueLine(
            state=CaseState(row["state"]),
            severity=Severity(row["severity"]) if by_severity else None,
            count=row["count"],
            oldest=row["oldest"],
            percent=round(100 * row["count"] / most),
        )
        for row in rows
    ]
    return sorted(lines, key=lambda line: (OPEN.index(line.state), -(line.severity or 0)))


def reasons(*, closed: Collection[int]) -> list[ReasonLine]:
    """Why cases wait, in the order of :class:`TriggerKind`. One query.

    For people who label nothing: a number that falls when a case is taken tells why that one is there.
    """
    waiting = visible_cases(closed).filter(state__in=OPEN)
    rows = (
        Trigger.objects.filter(case__in=waiting)
        .order_by()
        .values("kind")
        .annotate(count=Count("pk"), oldest=Min("case__created"))
    )
    most = max((row["count"] for row in rows), default=1)
    lines = [
        ReasonLine(TriggerKind(row["kind"]), row["count"], row["oldest"], round(100 * row["count"] / most))
        for row in rows
    ]
    return sorted(lines, key=lambda line: list(TriggerKind).index(line.kind))


def visible_cases(closed: Collection[int]) -> QuerySet[Case]:
    """Every case but practice, and but those of answers with ids in ``closed``."""
    return Case.objects.exclude(kind=CaseKind.PRACTICE).exclude(implementation__in=closed)


def cases(*, closed: Collection[int], viewer: Reviewer | None, state: str = "") -> QuerySet[Case]:
    """Cases with their events and number of labels, newest first; of one ``state`` where one is named.

    A ``viewer`` who labels does not see that an answer will be repeated.
    """
    events = CaseEvent.objects.select_related("reviewer").order_by("pk")
    found = visible_cases(closed).annotate(
        labels=Count("reviews", filter=Q(reviews__role=Role.ANNOTATOR), distinct=True)
    )
    if viewer is not None:
        found = found.exclude(kind=CaseKind.REPEAT, reserved_for=viewer, closed=None)
    if state:
        found = found.filter(state=state)
    suite = "implementation__submission__suite_version__suite"
    return found.select_related(suite).prefetch_related(Prefetch("events", events)).order_by("-pk")


def work(people: Iterable[Reviewer]) -> list[Work]:
    """What each of ``people`` has done, in their order. Four queries, however many they are."""
    rows = {person.pk: Work(person) for person in people}
    said = _said()
    _count(rows, said)
    _compare(rows, said)
    for person, number in Decision.objects.order_by().values_list("adjudicator").annotate(Count("pk")):
        if person in rows:
            rows[person].decisions = number
    ended = Assignment.objects.order_by().exclude(case__kind=CaseKind.PRACTICE).values_list("reviewer", "state")
    for person, state, number in ended.annotate(Count("pk")):
        if person in rows and state == AssignmentState.SKIPPED:
            rows[person].skipped = number
        if person in rows and state == AssignmentState.EXPIRED:
            rows[person].expired = number
    return list(rows.values())


def _said() -> list[_Said]:
    fields = (
        *("case", "case__kind", "case__implementation", "case__state", "reviewer", "role", "label"),
        *("active_seconds", "locked"),
    )
    rows = Review.objects.exclude(case__kind=CaseKind.PRACTICE).order_by("locked", "pk").values_list(*fields)
    return [
        _Said(case, kind, answer, state in CLOSED, person, role, label, seconds, locked)
        for case, kind, answer, state, person, role, label, seconds, locked in rows
    ]


def _count(rows: dict[int, Work], said: Sequence[_Said]) -> None:
    since = timezone.now() - timedelta(days=_DAYS)
    seconds: dict[int, list[int]] = defaultdict(list)
    for each in said:
        if each.person in rows:
            rows[each.person].labels += 1
            rows[each.person].last_days += each.locked > since
            seconds[each.person].append(each.seconds)
    for person, spent in seconds.items():
        # Imported labels of other tools may have no time; a median of zeros would tell nothing.
        rows[person].seconds = round(median(spent)) if any(spent) else None


def _compare(rows: dict[int, Work], said: Sequence[_Said]) -> None:
    """Annotators' blind labels of closed cases with their peers', with decisions, and with their own of before."""
    decisions = dict(Decision.objects.values_list("case", "label"))
    compared = [each for each in said if each.role == Role.ANNOTATOR and each.closed]
    by_case: dict[int, list[_Said]] = defaultdict(list)
    first: dict[tuple[int, int], _Said] = {}
    for each in compared:
        if each.kind == CaseKind.REVIEW:
            by_case[each.case].append(each)
            first.setdefault((each.person, each.answer), each)
    for each in (each for each in compared if each.person in rows):
        mine = rows[each.person]
        if each.kind == CaseKind.REPEAT:
            if before := first.get((each.person, each.answer)):
                mine.again.add(each.label, before.label)
            continue
        for other in by_case[each.case]:
            if other.person != each.person:
                mine.peers.add(each.label, other.label)
        if each.case in decisions:
            mine.decided.add(each.label, decisions[each.case])


def people_at_work() -> list[Reviewer]:
    """Everybody who labels, decides, or has done so. One query."""
    active = Q(active=True) & (Q(is_annotator=True) | Q(is_adjudicator=True))
    said = Q(pk__in=Review.objects.values("reviewer")) | Q(pk__in=Decision.objects.values("adjudicator"))
    return list(Reviewer.objects.filter(active | said).order_by("pseudonym"))
