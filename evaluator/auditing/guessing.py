"""How likely guessing is to pass: enough private cases that a coin would pass less than once in a thousand. DESIGN, 4.

The guesser knows the output that is expected most often, and answers it to every private case. No Django here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.testing.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluator.testing.types import Check, Data

LIMIT = 1 / 1000


@dataclass(frozen=True, slots=True)
class Guessing:
    """Of ``outputs`` golden outputs ``commonest`` are equal; ``private_cases`` have to be guessed one after another."""

    outputs: int
    commonest: int
    private_cases: int

    @property
    def chance(self) -> float:
        """The probability with which the best constant answer passes all private cases."""
        return float((self.commonest / self.outputs) ** self.private_cases)

    @property
    def passed(self) -> bool:
        """Whether guessing helps too rarely to matter."""
        return self.chance < LIMIT

    @property
    def missing_cases(self) -> int | None:
        """How many more private cases of the same kind are needed; None where no number would do."""
        if self.passed:
            return 0
        if self.commonest == self.outputs:
            return None
        wanted = math.floor(math.log(LIMIT) / math.log(self.commonest / self.outputs)) + 1
        return wanted - self.private_cases

    @property
    def reason(self) -> str:
        """For people, why this is not good enough; empty when it is."""
        if self.passed:
            return ""
        if self.missing_cases is None:
            return f"guessing passes: all {self.outputs} golden outputs are equal, make cases with different outputs"
        return (
            f"guessing passes once in {max(1, round(1 / self.chance))} times: {self.commonest} of {self.outputs} "
            f"golden outputs are equal, so at least {self.missing_cases} more private "
            f"{'case is' if self.missing_cases == 1 else 'cases are'} needed (or more varied ones)"
        )


def guessing(outputs: Sequence[dict[str, Data]], *, private_cases: int, check: Check) -> Guessing:
    """The guessing bound of a task whose golden function answered ``outputs``; equal is what ``check`` finds equal.

    Raises ValueError without any output.
    """
    if not outputs:
        raise ValueError("there is no golden output to guess from")
    groups: list[tuple[dict[str, Data], int]] = []
    for output in outputs:
        for place, (first, count) in enumerate(groups):
            if compare(first, output, check) is None:
                groups[place] = (first, count + 1)
                break
        else:
            groups.append((output, 1))
    return Guessing(len(outputs), max(count for _, count in groups), private_cases)
