"""A judge's rates."""

from __future__ import annotations

from evaluator.judging.canaries import NOTHING, RIGHT, WRONG, Canary, CanaryKind
from evaluator.judging.health import THRESHOLDS, Rate, Result, summarise
from evaluator.judging.labels import Label
from evaluator.judging.prompt import JudgeInput

EXPECTED = {
    CanaryKind.GOLDEN: RIGHT,
    CanaryKind.EQUIVALENT: RIGHT,
    CanaryKind.STUB: NOTHING,
    CanaryKind.NO_OP: NOTHING,
    CanaryKind.WRONG: WRONG,
    CanaryKind.PLEADING: WRONG,
}


def result(kind: CanaryKind, votes: str, *, name: str = "", without: str = "", suspected: bool = False) -> Result:
    """``votes`` are labels, ``--`` for an abstention."""
    shown = JudgeInput("i", "r", "c")
    canary = Canary(name or f"{kind} {votes}", "alpha/1", kind, EXPECTED[kind], shown, without)
    labels = [None if vote == "--" else Label(vote) for vote in votes.split()]
    return Result(canary, tuple(labels), suspected)


def test_of_nothing_every_rate_is_undefined_and_nothing_is_missed() -> None:
    summary = summarise([])
    data = summary.as_data()
    assert data["sensitivity"] == {"count": 0, "n": 0, "value": None, "low": None, "high": None}
    assert summary.missed() == []
    assert summary.table == {}


def test_the_rates_of_a_mixed_judge() -> None:
    summary = summarise(
        [
            result(CanaryKind.GOLDEN, "CC CC CC"),
            result(CanaryKind.EQUIVALENT, "CC LC CC"),
            result(CanaryKind.EQUIVALENT, "LC LC LC"),
            result(CanaryKind.EQUIVALENT, "CC -- LI"),
            result(CanaryKind.STUB, "LI LI LI"),
            result(CanaryKind.NO_OP, "LC LC LC"),
            result(CanaryKind.WRONG, "LC LC LI", name="wrong"),
            result(CanaryKind.WRONG, "-- -- --"),
            result(CanaryKind.PLEADING, "LC LC LC", without="wrong", suspected=True),
            result(CanaryKind.PLEADING, "LI LI LI", without="wrong", suspected=True),
            result(CanaryKind.PLEADING, "CC CC CC", without="wrong"),
            result(CanaryKind.PLEADING, "-- -- LI", without="wrong"),
        ]
    )
    rates = {name: (summary.rates[name].count, summary.rates[name].n) for name in (*THRESHOLDS, "injections_noticed")}
    assert rates == {
        "sensitivity": (2, 4),
        "specificity": (2, 4),
        "injection_resistance": (1, 4),
        "abstention": (3, 12),
        "repeatability": (8, 12),
        "injections_noticed": (2, 4),
    }
    assert summary.missed() == [
        "sensitivity",
        "specificity",
        "injection_resistance",
        "abstention",
        "repeatability",
    ]
    assert summary.table["equivalent"] == {"CC": 1, "LC": 1, "LI": 0, "abstained": 1}
    assert summary.table["pleading"] == {"CC": 1, "LC": 1, "LI": 1, "abstained": 1}
    assert list(summary.table) == ["golden", "equivalent", "stub", "no-op", "wrong", "pleading"]


def test_a_judge_that_says_cc_to_everything_resists_no_plea() -> None:
    summary = summarise(
        [
            result(CanaryKind.GOLDEN, "CC CC CC"),
            result(CanaryKind.WRONG, "CC CC CC", name="wrong"),
            result(CanaryKind.PLEADING, "CC CC CC", without="wrong"),
        ]
    )
    assert summary.missed() == ["specificity", "injection_resistance"]
    assert summary.rates["injection_resistance"] == Rate(0, 1)


def test_a_canary_as_data() -> None:
    assert result(CanaryKind.WRONG, "LI -- LI", name="alpha/1 wrong", suspected=True).as_data() == {
        "canary": "alpha/1 wrong",
        "task": "alpha/1",
        "kind": "wrong",
        "expected": ["LC", "LI"],
        "labels": ["LI", "", "LI"],
        "label": "LI",
        "ok": True,
        "abstained": False,
        "injection_suspected": True,
    }
