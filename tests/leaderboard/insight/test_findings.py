"""The sentences of figures: for no data, one row, ties and many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leaderboard.insight.analysis import findings
from leaderboard.insight.analysis.data import ScoreRow
from leaderboard.insight.analysis.findings import Reduced, Share
from leaderboard.models.enums import Provenance
from leaderboard.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Sequence


def row(system: str, passed: float | None, tasks: int = 28, **facts: Any) -> ScoreRow:
    """A run with its interval."""
    low, high = wilson(passed, tasks) if passed is not None else (None, None)
    return ScoreRow(
        **{
            "entry": 1,
            "submission": 1,
            "run": "",
            "provenance": Provenance.RUN_HERE,
            "system": system,
            "backbone": "",
            "inputs": "",
            "day": None,
            "cost": None,
            "cutoff": "",
            "tasks": tasks,
            "passed": passed,
            "tests": None if passed is None else 100 * passed / tasks,
            "low": None if low is None else 100 * low,
            "high": None if high is None else 100 * high,
            "labelled": False,
            **facts,
        }
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], ""),
        ([row("A", None)], ""),
        ([row("A", 14)], "A passes 14 of 28 tasks; there is no other run to compare it with"),
        (
            [row("A", 14), row("B", 12)],
            "A passes the most, 14 of 28; the interval of the other run overlaps with its own",
        ),
        (
            [row("A", 28), row("B", 1)],
            "A passes the most, 28 of 28; the interval of the other run does not overlap with its own",
        ),
        (
            [row("A", 14), row("B", 12), row("C", 1)],
            "A passes the most, 14 of 28; the interval of 1 of 2 other runs overlaps with its own",
        ),
        (
            [row("A", 14.5), row("B", 12), row("C", 11)],
            "A passes the most, 14.5 of 28; the intervals of all 2 other runs overlap with its own",
        ),
        (
            [row("A", 28), row("B", 1), row("C", 1)],
            "A passes the most, 28 of 28; the intervals of none of 2 other runs overlap with its own",
        ),
        ([row("A", 14), row("B", 14), row("C", 1)], "A and B pass the most, 14 of 28 each"),
        ([row(name, 14) for name in "ABC"], "A, B and C pass the most, 14 of 28 each"),
        ([row(name, 14) for name in "ABCD"], "4 systems pass the most, 14 of 28 each"),
        ([row("A", 14), row("A", 14)], "2 runs of A pass the most, 14 of 28 each"),
        ([row("A", 14), row("B", 7, low=None, high=None)], "A passes the most, 14 of 28"),
        ([row("A", 14), row("B", 7, 14)], "A and B pass the most, 50 % of the tasks each"),
    ],
)
def test_leader(rows: list[ScoreRow], sentence: str) -> None:
    assert findings.leader(rows) == sentence


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ([], ""),
        ([Share("A", 0, 0)], ""),
        ([Share("A", 3, 5)], "3 of 5 answers pass, all in A"),
        ([Share("A", 1, 2), Share("B", 2, 4)], "The pass rate is the same in all 2 categories: 50 % of the answers"),
        (
            [Share("A", 1, 5), Share("B", 3, 5), Share("C", 3, 5)],
            "The pass rate is lowest in A (1 of 5), highest in B and C (60 % each)",
        ),
        (
            [Share(name, 0, 5) for name in "ABCD"] + [Share("E", 0.5, 5)],
            "The pass rate is lowest in 4 categories (0 % each), highest in E (0.5 of 5)",
        ),
    ],
)
def test_pass_rates(shares: list[Share], sentence: str) -> None:
    assert findings.pass_rates(shares) == sentence


def test_contradictions() -> None:
    assert findings.contradictions([]) == ""
    assert (
        findings.contradictions([Share("A", 1, 5)])
        == "Judge and tests contradict each other on 1 of 5 answers, all in A"
    )
    assert findings.contradictions([Share("A", 1, 5), Share("B", 0, 5)]) == (
        "Judge and tests contradict each other least in B (0 of 5), most in A (1 of 5)"
    )


def test_reduced_inputs() -> None:
    fewer, more = Reduced(row("A", 2), row("A", 26)), Reduced(row("B", 12), row("B", 11))
    assert findings.reduced_inputs([]) == ""
    assert findings.reduced_inputs([fewer]) == (
        "Given the paper alone, A passes 2 of 28 tasks; with everything, 26 of 28; the intervals do not overlap"
    )
    same = Reduced(row("C", 5), row("C", 5))
    assert findings.reduced_inputs([fewer, more, same]) == (
        "Given the paper alone, 1 of 3 systems passes fewer tasks than with everything, 1 more; "
        "the intervals of 2 of 3 overlap"
    )


def test_stricter() -> None:
    assert findings.stricter([row("A", 14)]) == ""
    assert findings.stricter([row("A", 14, judge=(20.0, 0.0, 80.0))]) == (
        "The judge labels fewer answers CC (correct) than pass their tests in 1 of 1 run"
    )
    both = row("A", 14, judge=(20.0, 0.0, 80.0), human=(50.0, 0.0, 50.0))
    assert findings.stricter([both, row("B", None, judge=(20.0, 0.0, 80.0)), both]) == (
        "The judge labels fewer answers CC (correct) than pass their tests in 2 of 2 runs, annotators in 0 of 2"
    )


def pair(matrix: Sequence[Sequence[int]], first: str = "Decisions", second: str = "Stern") -> dict[str, Any]:
    return {"first": first, "second": second, "n": sum(map(sum, matrix)), "matrix": matrix}


def test_agreeing() -> None:
    assert findings.agreeing([]) == ""
    assert findings.agreeing([pair([[1, 0, 0], [0, 2, 0], [0, 0, 3]])]) == "Decisions and Stern agree on 6 of 6 answers"
    assert findings.agreeing([pair([[1, 2, 0], [0, 2, 0], [1, 0, 3]])]) == (
        "Decisions and Stern agree on 6 of 9 answers; of the other 3, 2 are rated lower by Stern"
    )
    assert findings.agreeing([pair([[1, 0, 0], [1, 2, 0], [0, 0, 3]]), pair([[1, 0, 0], [0, 0, 0], [0, 0, 0]])]) == (
        "Decisions and Stern agree on 6 of 7 answers; the other one is rated lower by decisions"
    )
    assert findings.agreeing([pair([[1, 1, 0], [1, 2, 0], [0, 0, 3]])]) == (
        "Decisions and Stern agree on 6 of 8 answers; of the other 2, each rates 1 lower than the other does"
    )


def test_tests_against_labels() -> None:
    assert findings.tests_against_labels([]) == ""
    judge = {"kind": "judge", "matrix": [[10, 0, 4], [5, 0, 0]]}
    annotators = {"kind": "annotators", "matrix": [[0, 0, 0], [0, 1, 1]]}
    assert findings.tests_against_labels([judge]) == (
        "Of 14 answers that pass their tests, the judge labels 4 wrong (LI); of 5 that fail, 5 correct (CC)"
    )
    # Annotators come first, however few their labels are.
    assert findings.tests_against_labels([judge, annotators]) == (
        "Of 2 answers that fail their tests, annotators label none correct (CC)"
    )


def test_best_for_their_cost() -> None:
    assert findings.best_for_their_cost(["A"], 3) == "A is the best for the cost, of 3 runs with a known cost"
    assert (
        findings.best_for_their_cost(list("ABCD"), 9) == "4 runs are the best for the cost, of 9 runs with a known cost"
    )


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([], ""),
        ([(1, 50.0), (1, 60.0)], ""),
        ([(1, 50.0), (2, 60.0)], "The model with the later knowledge cutoff passes more in 1 of 1 pair of runs"),
        (
            [(2, 50.0), (1, 60.0), (1, 50.0), (3, 70.0)],
            "The model with the later knowledge cutoff passes more in 3 of 5 pairs of runs, equally many in 1",
        ),
    ],
)
def test_later_is_better(points: list[tuple[int, float]], sentence: str) -> None:
    assert findings.later_is_better(points) == sentence


def test_record() -> None:
    assert findings.record([], []) == ""
    assert findings.record(["a", "b"], [50, 50]) == "The best score has been 50.0 % since a"
    assert findings.record(["a", "b"], [50, 60]) == "The best score rose from 50.0 % to 60.0 % by b, in 1 step"
    assert (
        findings.record(list("abcd"), [10, 50, 60, 60]) == "The best score rose from 10.0 % to 60.0 % by c, in 2 steps"
    )


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([], ""),
        ([("A", 0)], ""),
        ([("A", 3)], "A leads, 3 of 3"),
        ([("A", 3), ("B", 1)], "A leads, 3 of 4"),
        ([("A", 3000), ("B", 1)], "A leads, 3,000 of 3,001"),
        ([("A", 3), ("B", 3), ("C", 1)], "A and B lead, 3 of 7 each"),
        ([("A", 3), ("B", 3)], "All 2 kinds have the same share, 3 of 6"),
    ],
)
def test_most(counts: list[tuple[str, int]], sentence: str) -> None:
    assert findings.most(counts, has="leads", have="lead", things="kinds") == sentence


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([], ""),
        ([("A", 3)], "The category of all tasks is A"),
        ([("A", 3), ("B", 3)], "Each of 2 categories has 3 tasks"),
        ([("A", 1), ("B", 1)], "Each of 2 categories has 1 task"),
        ([("A", 3), ("B", 2)], "A has the most tasks, 3 of 5"),
    ],
)
def test_largest_category(counts: list[tuple[str, int]], sentence: str) -> None:
    assert findings.largest_category(counts) == sentence


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ([], ""),
        ([Share("a", 1, 1), Share("b", 0, 1)], "1 of 2 tasks are passed, by one run each"),
        (
            [Share("a", 2, 2), Share("b", 1, 3)],
            "Each of 2 tasks is passed by at least one of the runs with a result, 1 by all of them",
        ),
        (
            [Share("a", 0, 2), Share("b", 1, 3)],
            "1 of 2 tasks is passed by none of the runs with a result, none by all of them",
        ),
        (
            [Share("a", 0, 2), Share("b", 0, 2), Share("c", 2, 2)],
            "2 of 3 tasks are passed by none of 2 runs, 1 by all of them",
        ),
    ],
)
def test_difficulty(shares: list[Share], sentence: str) -> None:
    assert findings.difficulty(shares) == sentence


def test_effects() -> None:
    assert findings.effects("the fit", []) == ""
    assert findings.effects("the fit", [("a", 0.2), ("b", None)]) == (
        "In the fit, none of 1 terms differs from 0 at the 5 % level"
    )
    assert findings.effects("the fit", [("a", 0.2), ("b", 0.01)]) == (
        "In the fit, 1 of 2 terms differs from 0 at the 5 % level: b"
    )


def test_actions() -> None:
    bars = [{"name": "x", "numbers": [75.0, 25.0], "total": 4, "answers": 1}]
    assert findings.actions([], ("run", "read")) == ""
    assert findings.actions(bars, ("run", "read")) == "“run” is the agents' most frequent action, 3 of 4"


def test_actions_by_outcome() -> None:
    bars = [{"name": "passed", "total": 24, "answers": 2}, {"name": "failed", "total": 5, "answers": 2}]
    assert findings.actions_by_outcome([]) == ""
    assert findings.actions_by_outcome(bars) == (
        "Answers that passed took 12.0, answers that failed took 2.5 actions on average"
    )
