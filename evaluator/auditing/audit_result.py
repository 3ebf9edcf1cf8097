"""Findings of one task's audit, and what follows from them (docs/design/verdicts.md). No Django here."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from evaluator.outcomes import Outcome
from evaluator.testing.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmark_tasks.domain.known_answers import KnownAnswer
    from evaluator.auditing.image_scan import ImageScan
    from evaluator.auditing.margins import Margins
    from evaluator.auditing.mutants import Mutant
    from evaluator.sandbox.missing_modules import Missing
    from evaluator.testing.verdicts import Check, Data

LEAST_SHARE_KILLED = 0.8
GUESSING_LIMIT = 1 / 1000
"""A guesser who always answers the most frequent output must pass all private test cases less often than this."""
# In floating point, 0.57 times 100 is slightly less than 57.
_FLOAT_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class MutantsResult:
    """Results of the mutants that were tried; ``made`` is how many exist.

    ``equivalent`` are those that their author declares, with a reason, indistinguishable from the reference; they do
    not count. ``refuted`` are declared ones that the test kills anyway, ``unknown`` declarations that match no mutant.
    """

    made: int
    killed: int
    survivors: tuple[Mutant, ...] = ()
    equivalent: tuple[tuple[Mutant, str], ...] = ()
    refuted: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many mutants count."""
        return self.killed + len(self.survivors)

    @property
    def share(self) -> float:
        """The fraction that the test killed, from 0 to 1; 1 when there is nothing to kill."""
        return self.killed / self.total if self.total else 1.0

    @property
    def remarks(self) -> tuple[str, ...]:
        """Descriptions of wrong declarations."""
        return (
            *(f"the mutant {name} is declared equivalent, but the test kills it" for name in self.refuted),
            *(f"there is no mutant {name}, which is declared equivalent" for name in self.unknown),
        )

    def as_data(self) -> dict[str, Any]:
        """Return plain data for storing."""
        return {
            "made": self.made,
            "sampled": self.made > self.total + len(self.equivalent) + len(self.refuted),
            "total": self.total,
            "killed": self.killed,
            "share": self.share,
            "survivors": [{"id": mutant.id, "diff": mutant.diff} for mutant in self.survivors],
            "equivalents": [
                {"id": mutant.id, "reason": reason, "diff": mutant.diff} for mutant, reason in self.equivalent
            ],
            "refuted": list(self.refuted),
            "unknown": list(self.unknown),
        }


@dataclass(frozen=True, slots=True)
class TriedAnswer:
    """A known answer, and the outcome of the test; ``reason`` says why a right one failed."""

    answer: KnownAnswer
    outcome: Outcome
    reason: str = ""

    @property
    def is_misjudged(self) -> bool:
        """Whether a right answer fails, or a wrong one passes."""
        return self.answer.right is not (self.outcome is Outcome.PASSED)

    def as_data(self) -> dict[str, Any]:
        """Return plain data for storing."""
        about = {"answer": self.answer.name, "right": self.answer.right, "about": self.answer.about}
        return {**about, "outcome": self.outcome.value, **({"reason": self.reason} if self.reason else {})}


@dataclass(frozen=True, slots=True)
class Guessing:
    """How often outputs repeat: ``commonest`` of ``outputs`` are equal; ``private_cases`` must be guessed in turn."""

    outputs: int
    commonest: int
    private_cases: int

    def as_data(self) -> dict[str, Any]:
        """Return plain data for storing."""
        return {**asdict(self), "chance": self.chance, "missing_cases": self.missing_cases}

    @property
    def chance(self) -> float:
        """The probability that the best constant answer passes all private test cases."""
        return float((self.commonest / self.outputs) ** self.private_cases)

    @property
    def passed(self) -> bool:
        """Whether guessing helps too rarely to matter."""
        return self.chance < GUESSING_LIMIT

    @property
    def missing_cases(self) -> int | None:
        """How many more private test cases of the same kind are needed; None if no number suffices."""
        if self.passed:
            return 0
        if self.commonest == self.outputs:
            return None
        wanted = math.floor(math.log(GUESSING_LIMIT) / math.log(self.commonest / self.outputs)) + 1
        return wanted - self.private_cases

    @property
    def reason(self) -> str:
        """Why this is insufficient, for users; empty if it is sufficient."""
        if self.passed:
            return ""
        if self.missing_cases is None:
            return (
                f"guessing passes: all {self.outputs} golden outputs are equal; write test cases with different outputs"
            )
        return (
            f"guessing passes once in {max(1, round(1 / self.chance))} times: {self.commonest} of {self.outputs} "
            f"golden outputs are equal, so at least {self.missing_cases} more private test "
            f"{'case is' if self.missing_cases == 1 else 'cases are'} needed (or more varied ones)"
        )


@dataclass(frozen=True, slots=True)
class AuditResult:
    """All findings of one audit. Checks that were not run are None: if the reference fails, the others mean nothing.

    ``golden`` holds the verdicts on the golden function, each on other seeds; ``answers`` are the known answers that
    ship with the task; ``missing`` is what the environment lacks to run it, which says nothing about the test.
    ``upstream_trial`` is None if there is no such test beside a sealed one, otherwise why it cannot run here, and empty
    if it runs. ``reasons`` are findings that make the task unusable.
    """

    golden: tuple[Verdict, ...]
    stub: Outcome | None = None
    trivial: tuple[tuple[str, Outcome], ...] = ()
    mutants: MutantsResult | None = None
    answers: tuple[TriedAnswer, ...] = ()
    guessing: Guessing | None = None
    margins: Margins | None = None
    image_scan: ImageScan | None = None
    upstream_trial: str | None = None
    missing: Missing | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def reasons(self) -> tuple[str, ...]:
        """Findings against the task; empty when answers to it can be judged."""
        if self.missing:
            return (str(self.missing),)
        found = []
        for verdict in self.golden:
            if verdict.outcome is not Outcome.PASSED:
                found.append(f"the reference does not pass ({verdict.outcome.value}: {verdict.reason})")
                break
        if len({verdict.outcome for verdict in self.golden}) > 1:
            found.append("the test is flaky: the reference passes sometimes")
        if self.stub is Outcome.PASSED:
            found.append("the masked stub passes")
        found += [f"the trivial answer '{name}' passes" for name, outcome in self.trivial if outcome is Outcome.PASSED]
        found += [
            f"the right answer {each.answer.name} fails ({each.outcome.words}: {each.reason})"
            for each in self.answers
            if each.answer.right and each.is_misjudged
        ]
        if self.guessing and self.guessing.reason:
            found.append(self.guessing.reason)
        return (
            *found,
            *(self.margins.reasons if self.margins else ()),
            *(self.image_scan.reasons if self.image_scan else ()),
        )

    @property
    def weakness(self) -> str:
        """Why a usable test is weak; empty when it is not."""
        passing = [each.answer.name for each in self.answers if not each.answer.right and each.is_misjudged]
        if passing:
            return f"weak test: it passes the wrong answer {', '.join(passing)}"
        if self.mutants is None or self.mutants.share >= LEAST_SHARE_KILLED:
            return ""
        return (
            f"weak test: it caught only {self.mutants.killed} of {self.mutants.total} seeded bugs "
            f"({percent(self.mutants.share)}), {percent(LEAST_SHARE_KILLED)} are wanted"
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Hints for the author, without consequences."""
        parts = (self.mutants, self.margins, self.image_scan)
        return (*self.notes, *(remark for part in parts if part for remark in part.remarks))

    def as_data(self) -> dict[str, Any]:
        """Return plain data for storing; the keys are a contract with the task page."""
        first = self.golden[0]
        return {
            "golden": {
                "outcome": first.outcome.value,
                "cases": len(first.cases),
                "outcomes": [verdict.outcome.value for verdict in self.golden],
                "seconds": round(first.seconds, 3),
            },
            "stub": self.stub.value if self.stub else "",
            "trivial": [{"answer": name, "outcome": outcome.value} for name, outcome in self.trivial],
            "mutants": self.mutants and self.mutants.as_data(),
            "answers": [each.as_data() for each in self.answers],
            "guessing": self.guessing and self.guessing.as_data(),
            "margins": self.margins and self.margins.as_data(),
            "image_scan": self.image_scan and self.image_scan.as_data(),
            "upstream": {}
            if self.upstream_trial is None
            else {"runs": not self.upstream_trial, "why": self.upstream_trial},
            "reasons": list(self.reasons),
            "weakness": self.weakness,
            "remarks": list(self.remarks),
        }


def judged_rightly(answers: Iterable[dict[str, Any]], *, right: bool) -> tuple[int, int]:
    """Return how many of an audit's stored right answers passed, or of its wrong ones failed, and their number."""
    passed = [each["outcome"] == Outcome.PASSED for each in answers if each["right"] is right]
    return passed.count(right), len(passed)


def percent(share: float) -> str:
    """Format a fraction as a percentage, rounded down: 79.9 % must not appear as 80 %."""
    return f"{int(share * 100 + _FLOAT_SLACK)} %"


def guessing(outputs: Sequence[dict[str, Data]], *, private_cases: int, check: Check) -> Guessing:
    """Compute the guessing bound from the golden ``outputs``; equality is defined by ``check``.

    Raises ValueError without any output.
    """
    # Loads numpy, which web processes do without: pages show numbers of audits.
    from evaluator.testing.comparison import compare

    if not outputs:
        raise ValueError("there is no golden output to guess from")
    groups: list[tuple[dict[str, Data], int]] = []
    for output in outputs:
        for place, (first, count) in enumerate(groups):
            if not compare(first, output, check):
                groups[place] = (first, count + 1)
                break
        else:
            groups.append((output, 1))
    return Guessing(len(outputs), max(count for _, count in groups), private_cases)
