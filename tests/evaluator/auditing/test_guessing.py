"""The guessing bound: how likely the commonest expected output passes all private cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluator.auditing.guessing import Guessing, guessing
from evaluator.testing.types import Check, Rule

CHECK = Check(public_seeds=(1,), private_seed_count=1, default_rule=Rule(rtol=0.1, atol=0.0))


def test_a_coin_needs_ten_private_cases() -> None:
    nine, ten = Guessing(2, 1, 9), Guessing(2, 1, 10)
    assert (nine.chance, nine.passed, nine.missing_cases) == (1 / 512, False, 1)
    assert (ten.chance, ten.passed, ten.missing_cases, ten.reason) == (1 / 1024, True, 0, "")
    assert nine.reason == (
        "guessing passes once in 512 times: 1 of 2 golden outputs are equal, so at least 1 more private case is needed "
        "(or more varied ones)"
    )


@pytest.mark.parametrize(("outputs", "commonest", "wanted"), [(10, 1, 4), (4, 1, 5), (10, 9, 66), (1000, 1, 2)])
def test_the_number_that_is_asked_for_is_enough_and_no_more(outputs: int, commonest: int, wanted: int) -> None:
    missing = Guessing(outputs, commonest, 1).missing_cases
    assert missing == wanted - 1
    assert Guessing(outputs, commonest, wanted).passed
    assert not Guessing(outputs, commonest, wanted - 1).passed


def test_a_chance_of_exactly_one_in_a_thousand_is_not_enough() -> None:
    assert not Guessing(10, 1, 3).passed
    assert Guessing(10, 1, 3).missing_cases == 1


def test_no_number_of_equal_outputs_is_enough() -> None:
    found = Guessing(6, 6, 100)
    assert (found.chance, found.missing_cases) == (1.0, None)
    assert found.reason == "guessing passes: all 6 golden outputs are equal, make cases with different outputs"


def test_without_private_cases_guessing_passes() -> None:
    assert Guessing(8, 1, 0).chance == 1.0
    assert Guessing(8, 1, 0).missing_cases == 4


def test_outputs_are_equal_within_the_tolerance() -> None:
    outputs: list[dict[str, Any]] = [{"value": np.array([value])} for value in (1.0, 2.0, 1.05, 3.0, 0.95)]
    assert guessing(outputs, private_cases=4, check=CHECK) == Guessing(5, 3, 4)


def test_every_output_of_a_case_has_to_be_guessed() -> None:
    outputs: list[dict[str, Any]] = [{"sign": True, "value": float(number)} for number in range(1, 5)]
    assert guessing(outputs, private_cases=2, check=CHECK).commonest == 1


def test_nothing_to_guess_from_is_refused() -> None:
    with pytest.raises(ValueError, match="no golden output"):
        guessing([], private_cases=3, check=CHECK)
