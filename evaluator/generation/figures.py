"""The numbers behind charts of what agents do, like the paper's Figures 5 and 6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from submissions.trajectories.steps import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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
