"""Describe outcomes of test runs and their cases for pages of all rooms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evaluator.enums import AnswerTaken, RunState
from evaluator.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evaluator.models import TestRun

_STATE_TEXTS: Final[Mapping[str, str]] = {
    RunState.QUEUED: "waiting",
    RunState.RUNNING: "running",
    RunState.HELD: "held",
    RunState.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class Badge:
    """The text of an outcome (or, before there is one, a state), and the CSS class of its colour."""

    text: str
    css: str


def badge_of(run: TestRun | None, *, counts: bool = True, taken: str = "") -> Badge:
    """Return how a test run is shown; None is an answer whose run is not planned yet.

    A task without an answer counts as failed only if ``counts``: its submission is scored (before that, this is the
    first result decided), and the task is in a percentage. ``taken`` is the ``AnswerTaken`` of a model's answer.
    """
    if run is None:
        return Badge("waiting", "pending")
    if run.state != RunState.DONE:
        return Badge(_STATE_TEXTS[run.state], "pending")
    if run.outcome == Outcome.NOT_ATTEMPTED and not counts:
        return Badge(Outcome.NOT_ATTEMPTED.words, "pending")
    if run.outcome == Outcome.BAD_PATCH and taken == AnswerTaken.TOO_LONG:
        return Badge("not sent: too long for the model", "failed")
    return outcome_badge(run.outcome)


def outcome_badge(outcome: str) -> Badge:
    """Return how an outcome of a run or a case is shown."""
    return Badge(Outcome(outcome).words, "passed" if outcome == Outcome.PASSED else "failed")


def newest(runs: Iterable[TestRun]) -> TestRun | None:
    """Return the run that decides an answer: the newest that ended, else the newest. ``runs`` are oldest first."""
    ordered = list(runs)
    ended = [run for run in ordered if run.state == RunState.DONE]
    return ended[-1] if ended else ordered[-1] if ordered else None


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One public test case. ``headline`` is the first line of its difference or error, ``detail`` the whole text if
    there is more. The first failing one is ``opened``. Only upstream's tests have a ``name``, and no seed.
    """

    number: int
    seed: int | None
    badge: Badge
    headline: str
    detail: str
    opened: bool
    name: str


@dataclass(frozen=True, slots=True)
class PrivateCases:
    """All that pages show of a run's private test cases, no matter what the database holds."""

    passed: int
    total: int


def case_rows(run: TestRun | None) -> tuple[list[CaseRow], PrivateCases]:
    """Return a run's public test cases, and how many private ones passed."""
    public: list[CaseRow] = []
    private: list[bool] = []
    for case in run.cases if run else []:
        if case["public"]:
            opened = all(row.badge.css == "passed" for row in public)
            public.append(_public_case(case, outcome_badge(case["outcome"]), opened=opened))
        else:
            private.append(case["outcome"] == Outcome.PASSED)
    return public, PrivateCases(sum(private), len(private))


def _public_case(case: dict[str, Any], badge: Badge, *, opened: bool) -> CaseRow:
    text = "\n".join(part for part in (case.get("difference"), case.get("error")) if part)
    headline, _, more = text.partition("\n")
    return CaseRow(case["index"], case["seed"], badge, headline, text if more else "", opened, case.get("name", ""))
