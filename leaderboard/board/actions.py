"""Count agents' actions and draw them as bars: shares (like the paper's Figure 5), and by outcome (Figure 6)."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from django.db.models import F

from evaluator.enums import RunState, TrajectorySource
from evaluator.models import TestRun, Trajectory
from evaluator.outcomes import Outcome
from leaderboard.board.rows import visible_entries
from submissions.models import Submission
from submissions.trajectories.steps import Action

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from django.db.models import QuerySet

    from benchmark_tasks.models import SuiteVersion
    from submissions.models import Implementation

ACTIONS: Final = tuple(action.value for action in Action)


class Bar(NamedTuple):
    """A bar with its data: ``numbers`` (shares or means) are in the order of :data:`ACTIONS`.

    ``total`` is the number of actions in all of the ``answers`` answers. ``parts`` are the actions that occur, with x
    and width of their part of a bar that is 100 wide.
    """

    name: str
    address: str
    answers: int
    total: int
    numbers: list[float]
    parts: list[tuple[str, float, float]]


class ActionCharts(NamedTuple):
    """Bars of agents' actions.

    ``shares`` has a bar for each submission, with percentages of its actions. ``outcomes`` has one for answers that
    passed and one for those that did not, with mean numbers of actions per answer, drawn on one scale.
    """

    shares: list[Bar]
    outcomes: list[Bar]


def has_trajectories(version: SuiteVersion) -> bool:
    """Return whether anything published on a suite version has steps to draw. One query."""
    shown = visible_entries().filter(suite_version=version)
    return _counted().filter(implementation__submission__entry__in=shown).exists()


def _counted() -> QuerySet[Trajectory]:
    """Select the trajectories whose steps are known: a file of unknown format has no counts, which is not zero."""
    return Trajectory.objects.exclude(counts={})


def unread_of(submission: Submission) -> list[tuple[str, int]]:
    """Count the trajectories of a submission whose steps are not known, by their source. One query."""
    found = Trajectory.objects.filter(implementation__submission=submission, counts={}).order_by("source")
    counted = Counter(found.values_list("source", flat=True))
    return [(TrajectorySource(source).label, number) for source, number in counted.items()]


def steps_of(answer: Implementation) -> Bar | None:
    """Return the shares of actions of the agent of one answer; None without steps. One query."""
    counts = list(_counted().filter(implementation=answer).values_list("counts", flat=True))
    return _bar("What the agent did", "", counts, per=_actions(counts) / 100) if counts else None


def of_submission(submission: Submission) -> ActionCharts:
    """Draw the charts of one submission; without trajectories they have no bars. Two queries."""
    return _charts([submission])


def of_board(version: SuiteVersion, hidden: Collection[int] = ()) -> ActionCharts:
    """Draw the charts of everything published on a suite version that has trajectories. Three queries.

    The submissions ``hidden`` from the viewer are left out.
    """
    recorded = _counted().values("implementation__submission")
    published = Submission.objects.filter(
        entry__in=visible_entries(hidden).filter(suite_version=version, submission__in=recorded)
    )
    return _charts(published.select_related("system").order_by("system__name", "pk"))


def _charts(submissions: Iterable[Submission]) -> ActionCharts:
    listed = list(submissions)
    rows = list(
        _counted()
        .filter(implementation__submission__in=[each.pk for each in listed])
        .order_by("implementation")
        .annotate(submission=F("implementation__submission"))
        .values_list("submission", "implementation_id", "counts")
    )
    passed = _passed(implementation for _, implementation, _ in rows)
    by_submission, by_outcome = defaultdict(list), defaultdict(list)
    for submission, answer, counts in rows:
        by_submission[submission].append(counts)
        # An answer whose tests have not ended has neither passed nor failed.
        if answer in passed:
            by_outcome[passed[answer]].append(counts)
    shares = [
        _bar(
            each.system.name,
            each.get_absolute_url(),
            by_submission[each.pk],
            per=_actions(by_submission[each.pk]) / 100,
        )
        for each in listed
        if each.pk in by_submission
    ]
    longest = max((_actions(counts) / len(counts) for counts in by_outcome.values()), default=0)
    outcomes = [
        _bar("passed" if ended else "failed", "", counts, per=len(counts), longest=longest)
        for ended, counts in sorted(by_outcome.items(), reverse=True)
    ]
    return ActionCharts(shares, outcomes)


def _passed(implementations: Iterable[int]) -> dict[int, bool]:
    """Return answer's id -> whether the run that counts passed, for runs that have ended."""
    runs = (
        TestRun.objects.current().filter(implementation__in=list(implementations), state=RunState.DONE).order_by("pk")
    )
    return {answer: outcome == Outcome.PASSED for answer, outcome in runs.values_list("implementation_id", "outcome")}


def _actions(each: Iterable[Mapping[str, int]]) -> int:
    """Return the number of all actions."""
    return sum(counts.get(action, 0) for counts in each for action in ACTIONS)


def _bar(name: str, address: str, each: Sequence[Mapping[str, int]], *, per: float, longest: float = 100) -> Bar:
    """Draw the bar of the answers with the counts ``each``, divided by ``per``; a bar of ``longest`` is 100 wide."""
    counts: Counter[str] = Counter()
    for of_answer in each:
        counts.update(of_answer)
    numbers = [counts[action] / per if per else 0.0 for action in ACTIONS]
    parts, x = [], 0.0
    for action, number in zip(ACTIONS, numbers, strict=True):
        width = 100 * number / longest if longest else 0.0
        if width:
            parts.append((action, round(x, 2), round(width, 2)))
        x += width
    return Bar(name, address, len(each), _actions(each), numbers, parts)
