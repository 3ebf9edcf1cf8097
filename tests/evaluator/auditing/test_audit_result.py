"""What follows from an audit's findings: passed, weak or failed, and why."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evaluator.auditing.audit_result import AuditResult, MutantsResult, percent
from evaluator.auditing.guessing import Guessing
from evaluator.auditing.image_scan import ImageScan
from evaluator.auditing.margins import Margins, Moved
from evaluator.auditing.mutants import Mutant
from evaluator.testing.types import CaseResult, Outcome, Verdict

PASSED = Verdict(Outcome.PASSED, (CaseResult(1, 0, True, Outcome.PASSED),) * 3, "", 0.5)
WRONG = Verdict(Outcome.WRONG_OUTPUT, (), "", 0.5, "seed 1, case 0: differs")
MUTANT = Mutant("line 1: `a` -> `b`", "b", "-a\n+b")
GOOD = AuditResult(
    golden=(PASSED, PASSED),
    stub=Outcome.RAISED,
    trivial=(("none", Outcome.WRONG_OUTPUT),),
    mutants=MutantsResult(made=5, killed=4, survivors=(MUTANT,)),
    guessing=Guessing(4, 1, 8),
    margins=Margins((Moved("value", "2 threads", 0.1),), ("2 threads",), (("4 threads", "no box"),)),
    image_scan=ImageScan(("numpy 2",), (), (), complete=True),
)


def test_a_good_task() -> None:
    assert (GOOD.reasons, GOOD.weakness, GOOD.remarks) == ((), "", ())


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"golden": (WRONG, WRONG)}, "the golden function does not pass (wrong_output: seed 1, case 0: differs)"),
        ({"stub": Outcome.PASSED}, "the masked stub passes"),
        ({"trivial": (("none", Outcome.PASSED),)}, "the trivial answer 'none' passes"),
        ({"guessing": Guessing(4, 4, 8)}, "guessing passes: all 4 golden outputs are equal"),
        ({"margins": Margins((Moved("value", "2 threads", 1.5),), (), ())}, "golden moves out of its own tolerance"),
        ({"image_scan": ImageScan((), (), ("a.py",), complete=True)}, "the environment has a copy of the reference"),
    ],
)
def test_what_makes_a_task_unusable(changed: dict[str, object], reason: str) -> None:
    (found,) = replace(GOOD, **changed).reasons  # type: ignore[arg-type]
    assert found.startswith(reason)


def test_passing_only_sometimes_is_flaky() -> None:
    assert replace(GOOD, golden=(PASSED, WRONG)).reasons == (
        "the golden function does not pass (wrong_output: seed 1, case 0: differs)",
        "the test is flaky: the golden function passes sometimes",
    )


@pytest.mark.parametrize(
    ("killed", "survivors", "weak"), [(79, 21, True), (80, 20, False), (0, 0, False), (0, 1, True)]
)
def test_weak_is_below_four_fifths(killed: int, survivors: int, weak: bool) -> None:
    result = replace(GOOD, mutants=MutantsResult(made=100, killed=killed, survivors=(MUTANT,) * survivors))
    assert bool(result.weakness) == weak
    assert result.reasons == ()


def test_weakness_says_how_much_is_missing() -> None:
    result = replace(GOOD, mutants=MutantsResult(made=3, killed=2, survivors=(MUTANT,)))
    assert result.weakness == (
        "weak test: it notices only 2 of 3 mutants of the golden function (66 %), 80 % are wanted"
    )


def test_equivalent_mutants_count_on_neither_side_and_wrong_declarations_are_told() -> None:
    mutants = MutantsResult(
        made=9, killed=4, survivors=(MUTANT,), equivalent=((MUTANT, "why"),), refuted=("line 2",), unknown=("line 3",)
    )
    assert (mutants.total, mutants.share) == (5, 0.8)
    assert replace(GOOD, mutants=mutants).remarks == (
        "the mutant line 2 is declared equivalent, but the test kills it",
        "there is no mutant line 3, which is declared equivalent",
    )


def test_stored_data_is_plain_and_whole() -> None:
    data = GOOD.as_data()
    assert json.loads(json.dumps(data)) == data
    assert data["golden"] == {"outcome": "passed", "cases": 3, "outcomes": ["passed", "passed"], "seconds": 0.5}
    assert data["mutants"]["survivors"] == [{"id": "line 1: `a` -> `b`", "diff": "-a\n+b"}]
    assert data["margins"]["untried"] == [{"variation": "4 threads", "why": "no box"}]
    assert data["guessing"]["chance"] == 0.25**8
    nothing = AuditResult(golden=(WRONG, WRONG), stub=Outcome.RAISED).as_data()
    assert [nothing[key] for key in ("mutants", "guessing", "margins", "image_scan")] == [None] * 4


def test_a_percentage_is_never_rounded_up() -> None:
    assert [percent(share) for share in (0.0, 0.57, 0.799, 0.8, 1.0)] == ["0 %", "57 %", "79 %", "80 %", "100 %"]
