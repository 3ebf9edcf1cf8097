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
    """An answer on which the verdicts differ. ``run`` is the slug of the reported run, ``why`` one sentence.

    ``second_run`` is our outcome of the answer of the system's second published run, None if that has none.
    """

    task: str
    run: str
    system: str
    published_passed: bool
    sealed: Outcome
    second_run: Outcome | None
    right: Right
    why: str

    @property
    def may_be_second_run(self) -> bool:
        """Whether our verdict on the second run's answer is the published one, which may be that answer's."""
        return self.second_run is not None and (self.second_run is Outcome.PASSED) is self.published_passed


@dataclass(frozen=True, slots=True)
class PassWithoutAnswer:
    """A published pass of a task to which ``run`` (a reported run's slug) has no answer. For ``second_run``, see above.

    Upstream's judge labelled the task LI, and its reasons say that the function is not implemented.
    """

    task: str
    run: str
    system: str
    second_run: Outcome | None


@dataclass(frozen=True, slots=True)
class PublishedAnswers:
    """The comparison: ``verdicts`` answers have both verdicts, which agree on ``agreed``; a list of the others.

    Upstream published the sessions of two runs of some systems, and does not say which run its tests' verdicts belong
    to; their names are ``with_second_run``. The answers are those of the run that its judge read.
    ``passes_without_answer`` are not among the verdicts.
    ``measured`` is when our tests measured the answers, by ``evaluator_version``; None and empty without answers.
    """

    verdicts: int = 0
    agreed: int = 0
    disagreements: tuple[Disagreement, ...] = ()
    passes_without_answer: tuple[PassWithoutAnswer, ...] = ()
    with_second_run: tuple[str, ...] = ()
    evaluator_version: str = ""
    measured: date | None = None

    def counts(self) -> dict[Right, int]:
        """Return how often each verdict is right where they differ."""
        counted = Counter(each.right for each in self.disagreements)
        return {right: counted[right] for right in Right}

    @property
    def may_be_second_run(self) -> int:
        """The number of disagreements that a second run's answer may explain."""
        return sum(each.may_be_second_run for each in self.disagreements)

    @property
    def wrongly_passed(self) -> int:
        """The number of wrong answers with a published pass that no second run's answer may explain."""
        return sum(each.published_passed for each in self._errors)

    @property
    def wrongly_failed(self) -> int:
        """The number of right answers with a published failure that no second run's answer may explain."""
        return sum(not each.published_passed for each in self._errors)

    @property
    def _errors(self) -> list[Disagreement]:
        return [each for each in self.disagreements if each.right is Right.SEALED and not each.may_be_second_run]


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
        second_run = {task: Outcome(outcome) for task, outcome in run.get("second_run", {}).items()}
        for task, verdicts in published["tasks"].items():
            verdict = verdicts.get("tests")
            # Where upstream's test never ran, there is no verdict to compare.
            if verdict not in ("passed", "failed"):
                continue
            passed = verdict == "passed"
            if task not in run["tasks"]:
                if passed:
                    unanswered.append(PassWithoutAnswer(task, run["of"], system, second_run.get(task)))
                continue
            sealed = Outcome(run["tasks"][task])
            if passed is (sealed is Outcome.PASSED):
                agreed += 1
                continue
            facts = judged[run["slug"], task]
            differing.append(
                Disagreement(
                    task=task,
                    run=run["of"],
                    system=system,
                    published_passed=passed,
                    sealed=sealed,
                    second_run=second_run.get(task),
                    right=Right(facts["right"]),
                    why=facts["why"],
                )
            )
    return PublishedAnswers(
        verdicts=agreed + len(differing),
        agreed=agreed,
        disagreements=tuple(differing),
        passes_without_answer=tuple(unanswered),
        with_second_run=tuple(reported[run["of"]]["system_name"] for run in measured["runs"] if "second_run" in run),
        evaluator_version=measured["evaluator_version"],
        measured=date.fromisoformat(measured["measured"]),
    )
