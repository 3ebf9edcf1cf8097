"""What agents did, as numbers and as bars: shares of actions (like the paper's Figure 5), and by outcome (Figure 6)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from django.db.models import F

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


class Bar(NamedTuple):
    """One bar with its data: ``numbers`` (shares or means) are in the order of :data:`ACTIONS`.

    ``parts`` are the actions that were taken, with x and width of their part of a bar that is 100 wide.
    """

    name: str
    address: str
    counted: ActionCounts
    numbers: list[float]
    parts: list[tuple[str, float, float]]

    @property
    def total(self) -> int:
        """All actions together."""
        return sum(self.counted.counts.values())


class ActionCharts(NamedTuple):
    """``shares`` has a bar a submission, percentages of its actions; ``outcomes`` one for answers that passed and one
    for those that did not, mean numbers of actions for one answer, drawn on one scale.
    """

    shares: list[Bar]
    outcomes: list[Bar]


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
    shares = []
    for each in listed:
        if by_submission[each.pk]:
            counted = total_counts(by_submission[each.pk])
            percent = {action: 100 * share for action, share in counted.shares.items()}
            shares.append(_bar(each.system.name, each.get_absolute_url(), counted, percent, scale=1.0))
    # An answer whose tests have not ended is neither.
    decided = counts_by_outcome((passed[answer], counts) for _, answer, counts in rows if answer in passed)
    longest = max(sum(each.means.values()) for each in decided.values())
    outcomes = [
        _bar("passed" if ended else "failed", "", decided[ended], decided[ended].means, scale=100 / (longest or 1))
        for ended in (True, False)
        if decided[ended].answers
    ]
    return ActionCharts(shares, outcomes)


def _passed(implementations: Iterable[int]) -> dict[int, bool]:
    """Answer's id -> whether the run that counts passed, of those that are decided."""
    runs = (
        TestRun.objects.current().filter(implementation__in=list(implementations), state=RunState.DONE).order_by("pk")
    )
    return {answer: outcome == Outcome.PASSED for answer, outcome in runs.values_list("implementation_id", "outcome")}


def _bar(name: str, address: str, counted: ActionCounts, numbers: Mapping[str, float], *, scale: float) -> Bar:
    parts, x = [], 0.0
    for action in ACTIONS:
        width = numbers[action] * scale
        if width:
            parts.append((action, round(x, 2), round(width, 2)))
        x += width
    return Bar(name, address, counted, [numbers[action] for action in ACTIONS], parts)
