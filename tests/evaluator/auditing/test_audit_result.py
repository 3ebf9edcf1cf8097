"""An audit's result, derived from its findings: passed, weak or failed, and why."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluator.auditing.audit_result import AuditResult, Guessing, MutantsResult, guessing, percent
from evaluator.auditing.image_scan import ImageScan
from evaluator.auditing.margins import Margins, Moved
from evaluator.auditing.mutants import Mutant
from evaluator.outcomes import Outcome
from evaluator.testing.verdicts import CaseResult, Check, Rule, Verdict

PASSED = Verdict(Outcome.PASSED, (CaseResult(1, 0, True, Outcome.PASSED),) * 3, "", 0.5)
WRONG = Verdict(Outcome.WRONG_OUTPUT, (), "", 0.5, "seed 1, case 0: differs")
MUTANT = Mutant("line 1: `a` -> `b`", "b", "-a\n+b")
GOOD = AuditResult(
    golden=(PASSED, PASSED),
    stub=Outcome.RAISED,
    trivial=(("none", Outcome.WRONG_OUTPUT),),
    mutants=MutantsResult(made=5, killed=4, survivors=(MUTANT,)),
    guessing=Guessing(4, 1, 8),
    margins=Margins((Moved("value", "4 threads", 0.1),), ("4 threads",), ("an older processor",)),
    image_scan=ImageScan((), complete=True),
)


def test_a_good_task() -> None:
    assert (GOOD.reasons, GOOD.weakness, GOOD.remarks) == ((), "", ())


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"golden": (WRONG, WRONG)}, "the reference does not pass (wrong_output: seed 1, case 0: differs)"),
        ({"stub": Outcome.PASSED}, "the masked stub passes"),
        ({"trivial": (("none", Outcome.PASSED),)}, "the trivial answer 'none' passes"),
        ({"guessing": Guessing(4, 4, 8)}, "guessing passes: all 4 golden outputs are equal"),
        ({"margins": Margins((Moved("value", "4 threads", 1.5),), (), ())}, "the reference moves out of its own toler"),
        ({"image_scan": ImageScan(("a.py",), complete=True)}, "the environment has a copy of the reference installed"),
    ],
)
def test_findings_that_make_a_task_unusable(changed: dict[str, object], reason: str) -> None:
    (found,) = replace(GOOD, **changed).reasons  # type: ignore[arg-type]
    assert found.startswith(reason)


def test_passing_only_sometimes_is_flaky() -> None:
    assert replace(GOOD, golden=(PASSED, WRONG)).reasons == (
        "the reference does not pass (wrong_output: seed 1, case 0: differs)",
        "the test is flaky: the reference passes sometimes",
    )


@pytest.mark.parametrize(
    ("killed", "survivors", "weak"), [(79, 21, True), (80, 20, False), (0, 0, False), (0, 1, True)]
)
def test_weak_is_below_four_fifths(killed: int, survivors: int, weak: bool) -> None:
    result = replace(GOOD, mutants=MutantsResult(made=100, killed=killed, survivors=(MUTANT,) * survivors))
    assert bool(result.weakness) == weak
    assert result.reasons == ()


def test_equivalent_mutants_are_not_counted_and_wrong_declarations_are_reported() -> None:
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
    assert data["margins"]["untried"] == ["an older processor"]
    assert data["image_scan"] == {"copies": [], "complete": True}
    assert data["guessing"]["chance"] == 0.25**8
    nothing = AuditResult(golden=(WRONG, WRONG), stub=Outcome.RAISED).as_data()
    assert [nothing[key] for key in ("mutants", "guessing", "margins", "image_scan")] == [None] * 4


def test_a_percentage_is_never_rounded_up() -> None:
    assert [percent(share) for share in (0.0, 0.57, 0.799, 0.8, 1.0)] == ["0 %", "57 %", "79 %", "80 %", "100 %"]


CHECK = Check(public_seeds=(1,), private_seed_count=1, default_rule=Rule(rtol=0.1, atol=0.0))


def test_a_coin_needs_ten_private_cases() -> None:
    nine, ten = Guessing(2, 1, 9), Guessing(2, 1, 10)
    assert (nine.chance, nine.passed, nine.missing_cases) == (1 / 512, False, 1)
    assert (ten.chance, ten.passed, ten.missing_cases, ten.reason) == (1 / 1024, True, 0, "")
    assert nine.reason == (
        "guessing passes once in 512 times: 1 of 2 golden outputs are equal, so at least 1 more private test case is "
        "needed (or more varied ones)"
    )


@pytest.mark.parametrize(("outputs", "commonest", "wanted"), [(10, 1, 4), (4, 1, 5), (10, 9, 66), (1000, 1, 2)])
def test_the_named_number_of_cases_is_the_smallest_that_suffices(outputs: int, commonest: int, wanted: int) -> None:
    missing = Guessing(outputs, commonest, 1).missing_cases
    assert missing == wanted - 1
    assert Guessing(outputs, commonest, wanted).passed
    assert not Guessing(outputs, commonest, wanted - 1).passed


def test_no_number_of_equal_outputs_is_enough() -> None:
    found = Guessing(6, 6, 100)
    assert (found.chance, found.missing_cases) == (1.0, None)
    assert found.reason == "guessing passes: all 6 golden outputs are equal; write test cases with different outputs"


def test_outputs_are_equal_within_the_tolerance() -> None:
    outputs: list[dict[str, Any]] = [{"value": np.array([value])} for value in (1.0, 2.0, 1.05, 3.0, 0.95)]
    assert guessing(outputs, private_cases=4, check=CHECK) == Guessing(5, 3, 4)


def test_every_output_of_a_case_has_to_be_guessed() -> None:
    outputs: list[dict[str, Any]] = [{"sign": True, "value": float(number)} for number in range(1, 5)]
    assert guessing(outputs, private_cases=2, check=CHECK).commonest == 1
