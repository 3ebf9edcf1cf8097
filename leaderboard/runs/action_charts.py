"""What agents did, as numbers and as bars: shares of actions (like the paper's Figure 5), and by outcome (Figure 6)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db.models import F
from django.urls import reverse

from evaluator.enums import RunState
from evaluator.models import TestRun, Trajectory
from evaluator.testing.types import Outcome
from leaderboard.board.board import visible_entries
from submissions.models import Submission
from submissions.trajectories.steps import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from django.db.models import QuerySet

    from benchmark_tasks.models import SuiteVersion
    from leaderboard.models import Entry

ACTIONS: Final = tuple(action.value for action in Action)


@dataclass(frozen=True, slots=True)
class ActionCounts:
    """How often each action was taken in ``answers`` answers together. Every action has its number."""

    answers: int
    counts: Mapping[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """Each action's share of all actions (Figure 5)."""
        return action_shares(self.counts)

    @property
    def means(self) -> dict[str, float]:
        """How often each action was taken for one answer, on the average; zeros without answers (Figure 6)."""
        return {action: count / self.answers if self.answers else 0.0 for action, count in self.counts.items()}


def action_shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Each action's share of ``counts``, in the order of :class:`Action`; zeros where nothing was done."""
    whole = {action.value: counts.get(action.value, 0) for action in Action}
    total = sum(whole.values())
    return {action: count / total if total else 0.0 for action, count in whole.items()}


def total_counts(each: Iterable[Mapping[str, int]]) -> ActionCounts:
    """The counts of several answers together."""
    counts = {action.value: 0 for action in Action}
    answers = 0
    for taken in each:
        answers += 1
        for action in counts:
            counts[action] += taken.get(action, 0)
    return ActionCounts(answers=answers, counts=counts)


def counts_by_outcome(each: Iterable[tuple[bool, Mapping[str, int]]]) -> dict[bool, ActionCounts]:
    """The counts of answers that passed (True) and of those that did not, each kind together (Figure 6)."""
    sorted_out: dict[bool, list[Mapping[str, int]]] = {True: [], False: []}
    for passed, taken in each:
        sorted_out[passed].append(taken)
    return {passed: total_counts(counts) for passed, counts in sorted_out.items()}


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar that is 100 wide. ``number`` is what it stands for, a share or a mean."""

    action: str
    x: float
    width: float
    number: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its data: ``counts`` are in the order of :data:`ACTIONS`, over ``answers`` answers."""

    name: str
    address: str
    answers: int
    total: int
    counts: tuple[int, ...]
    segments: tuple[Segment, ...]

    @property
    def numbers(self) -> tuple[float, ...]:
        """What the segments stand for, in the order of :data:`ACTIONS`."""
        return tuple(segment.number for segment in self.segments)


@dataclass(frozen=True, slots=True)
class ActionCharts:
    """``shares`` has a bar a submission, percentages of its actions; ``outcomes`` one for answers that passed and one
    for those that did not, mean numbers of actions for one answer, drawn on one scale.
    """

    shares: tuple[Bar, ...]
    outcomes: tuple[Bar, ...]


def has_trajectories(version: SuiteVersion) -> bool:
    """Whether anything published on a suite version has steps to draw. One query."""
    return Trajectory.objects.filter(implementation__submission__entry__in=_published(version)).exists()


def _published(version: SuiteVersion) -> QuerySet[Entry]:
    return visible_entries().filter(suite_version=version)


def of_submission(submission: Submission) -> ActionCharts:
    """The charts of one submission; no bars where it has no trajectories. Two queries."""
    return _charts([submission])


def of_board(version: SuiteVersion) -> ActionCharts:
    """The charts of everything published on a suite version that has trajectories. Three queries."""
    published = Submission.objects.filter(entry__in=_published(version))
    return _charts(published.select_related("system").order_by("system__name", "pk"))


def _charts(submissions: Iterable[Submission]) -> ActionCharts:
    listed = list(submissions)
    rows = list(
        Trajectory.objects.filter(implementation__submission__in=[each.pk for each in listed])
        .order_by("implementation")
        .annotate(submission=F("implementation__submission"))
        .values_list("submission", "implementation_id", "counts")
    )
    passed = _passed(implementation for _, implementation, _ in rows)
    by_submission: dict[int, list[Mapping[str, int]]] = defaultdict(list)
    for submission, _, counts in rows:
        by_submission[submission].append(counts)
    shares = [
        _share_bar(each.system.name, reverse("submission", args=[each.pk]), total_counts(by_submission[each.pk]))
        for each in listed
        if by_submission[each.pk]
    ]
    # An answer whose tests have not ended is neither.
    decided = counts_by_outcome((passed[answer], counts) for _, answer, counts in rows if answer in passed)
    return ActionCharts(tuple(shares), _outcome_bars(decided))


def _passed(implementations: Iterable[int]) -> dict[int, bool]:
    """Answer's id -> whether the run that counts passed, of those that are decided."""
    runs = (
        TestRun.objects.current().filter(implementation__in=list(implementations), state=RunState.DONE).order_by("pk")
    )
    return {answer: outcome == Outcome.PASSED for answer, outcome in runs.values_list("implementation_id", "outcome")}


def _share_bar(name: str, address: str, counted: ActionCounts) -> Bar:
    shares = counted.shares
    return _bar(name, address, counted, {action: 100 * shares[action] for action in ACTIONS}, scale=1.0)


def _outcome_bars(decided: Mapping[bool, ActionCounts]) -> tuple[Bar, ...]:
    longest = max(sum(counted.means.values()) for counted in decided.values())
    scale = 100 / longest if longest else 0.0
    return tuple(
        _bar("passed" if passed else "failed", "", decided[passed], decided[passed].means, scale=scale)
        for passed in (True, False)
        if decided[passed].answers
    )


def _bar(name: str, address: str, counted: ActionCounts, numbers: Mapping[str, float], *, scale: float) -> Bar:
    segments, x = [], 0.0
    for action in ACTIONS:
        width = numbers[action] * scale
        segments.append(Segment(action, round(x, 2), round(width, 2), numbers[action]))
        x += width
    return Bar(
        name=name,
        address=address,
        answers=counted.answers,
        total=sum(counted.counts.values()),
        counts=tuple(counted.counts[action] for action in ACTIONS),
        segments=tuple(segments),
    )
