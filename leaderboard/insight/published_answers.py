"""Compare published verdicts on other systems' answers with those of our sealed tests on the same answers.

Both are facts that ship with the project, and the same on every site: ``lmr_bench_results.json`` in ``board`` has the
published verdicts, ``lmr_bench_remeasured.json`` our outcomes, and who is right where they differ.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from typing import Any

from evaluator.outcomes import Outcome
from leaderboard.board.reported import REMEASURED_FILE, SHIPPED_FILE


class Right(StrEnum):
    """Which of two different verdicts is right, after reading the answer, the paper and both tests."""

    SEALED = "sealed"
    PUBLISHED = "published"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer on which the verdicts differ. ``run`` is the slug of the reported run, ``why`` one sentence."""

    task: str
    run: str
    system: str
    published_passed: bool
    sealed: Outcome
    right: Right
    why: str


@dataclass(frozen=True, slots=True)
class PassWithoutAnswer:
    """A published pass of a task to which the sessions of ``run`` (a reported run's slug) hold no answer."""

    task: str
    run: str
    system: str


@dataclass(frozen=True, slots=True)
class PublishedAnswers:
    """The comparison: ``verdicts`` answers have both verdicts, which agree on ``agreed``; a list of the others.

    ``passes_without_answer`` are not among them. ``measured`` is when our tests measured the answers, by
    ``evaluator_version``; None and empty without answers.
    """

    verdicts: int = 0
    agreed: int = 0
    disagreements: tuple[Disagreement, ...] = ()
    passes_without_answer: tuple[PassWithoutAnswer, ...] = ()
    evaluator_version: str = ""
    measured: date | None = None

    def counts(self) -> dict[Right, int]:
        """Return how often each verdict is right where they differ."""
        counted = Counter(each.right for each in self.disagreements)
        return {right: counted[right] for right in Right}

    @property
    def wrongly_passed(self) -> int:
        """The number of wrong answers with a published pass."""
        return sum(each.right is Right.SEALED and each.published_passed for each in self.disagreements)

    @property
    def wrongly_failed(self) -> int:
        """The number of right answers with a published failure."""
        return self.counts()[Right.SEALED] - self.wrongly_passed


@cache
def published_answers(suite: str) -> PublishedAnswers:
    """Return the comparison on the suite with this slug; without any answer, if none were measured again."""
    measured: dict[str, Any] = json.loads(REMEASURED_FILE.read_text(encoding="utf-8"))
    if suite != measured["benchmark"]:
        return PublishedAnswers()
    reported = {run["slug"]: run for run in json.loads(SHIPPED_FILE.read_text(encoding="utf-8"))["runs"]}
    judged = {(each["run"], each["task"]): each for each in measured["disagreements"]}
    agreed, differing, unanswered = 0, [], []
    for run in measured["runs"]:
        published = reported[run["of"]]
        system = published["system_name"]
        unanswered += [
            PassWithoutAnswer(task, run["of"], system)
            for task, verdicts in published["tasks"].items()
            if verdicts.get("tests") == "passed" and task not in run["tasks"]
        ]
        for task, outcome in run["tasks"].items():
            verdict = published["tasks"][task].get("tests")
            # Where upstream's test never ran, there is no verdict to compare.
            if verdict not in ("passed", "failed"):
                continue
            passed, sealed = verdict == "passed", Outcome(outcome)
            if passed is (sealed is Outcome.PASSED):
                agreed += 1
                continue
            facts = judged[run["slug"], task]
            right, why = Right(facts["right"]), facts["why"]
            differing.append(Disagreement(task, run["of"], system, passed, sealed, right, why))
    return PublishedAnswers(
        verdicts=agreed + len(differing),
        agreed=agreed,
        disagreements=tuple(differing),
        passes_without_answer=tuple(unanswered),
        evaluator_version=measured["evaluator_version"],
        measured=date.fromisoformat(measured["measured"]),
    )
