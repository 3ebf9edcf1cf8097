"""Counts and shares of the labels that judges and humans give. No Django here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from evaluator.judging.labels import Label

if TYPE_CHECKING:
    from collections.abc import Iterable


FINAL: Final = "final"
"""Beside the raters, the label that counts in the end, of each answer with its source. Not in the shipped JSON."""


class RaterAxis(StrEnum):
    """The three raters, which are never mixed. The values are the keys of the shipped JSON."""

    TESTS = "tests"
    JUDGE = "judge"
    HUMAN = "human"

    @property
    def remark_prefix(self) -> str:
        """How a remark about this rater begins, so that pages can put it beside the right column."""
        return {RaterAxis.TESTS: "Unit tests: ", RaterAxis.JUDGE: "Judge: ", RaterAxis.HUMAN: "Humans: "}[self]


@dataclass(frozen=True, slots=True)
class LabelShares:
    """Percentages from 0 to 100, to one decimal; rounding may make them sum to 99.9 or 100.1."""

    cc: float
    lc: float
    li: float


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many answers carry each label."""

    cc: int
    lc: int
    li: int

    @classmethod
    def of(cls, labels: Iterable[Label]) -> Self:
        """Counts of a collection of labels."""
        given = list(labels)
        return cls(cc=given.count(Label.CC), lc=given.count(Label.LC), li=given.count(Label.LI))

    @property
    def total(self) -> int:
        """How many answers were labelled."""
        return self.cc + self.lc + self.li

    @property
    def shares(self) -> LabelShares:
        """Percentages to one decimal. Raises ZeroDivisionError when nothing was labelled."""
        return LabelShares(*(percentage(count, self.total) for count in (self.cc, self.lc, self.li)))


@dataclass(frozen=True, slots=True)
class TestCount:
    """How many tasks passed their unit tests, of ``total``; ``never_ran`` of those not passed were never executed."""

    __test__ = False  # the name starts with "Test", but pytest has nothing to collect here

    passed: int
    total: int
    never_ran: int = 0

    @property
    def share(self) -> float:
        """Percentage passed, to one decimal."""
        return percentage(self.passed, self.total)


def percentage(count: int, total: int) -> float:
    """``count`` of ``total`` in percent, rounded to one decimal, as the paper prints its tables."""
    return round(100 * count / total, 1)
