"""Comparing outputs: what is equal, what differs, and the text about the difference."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.testing.comparison import MAX_INEXACT, MAX_TEXT_CHARACTERS, Unmatched, compare, match_in_any_order
from evaluator.testing.verdicts import Check, Rule
from tests.conftest import examples
from tests.evaluator.testing.box.data import data_values

NAN = math.nan
EXACT = Rule(exact=True)
WIDE = Rule(rtol=0.0, atol=0.5)
NAN_EQUAL = Rule(equal_nan=True)
ANY_ORDER = Rule(ordered=False, rtol=0.0, atol=0.1)


def check(rule: Rule = Rule(), **rules: Rule) -> Check:  # noqa: B008 - Rule is frozen
    return Check(public_seeds=(1,), private_seed_count=0, default_rule=rule, output_rules=tuple(rules.items()))


def difference(expected: Any, actual: Any, rule: Rule = Rule()) -> str:  # noqa: B008 - Rule is frozen
    return compare({"x": expected}, {"x": actual}, check(rule))


def f(*values: float, dtype: str = "float64") -> Any:
    return np.array(values, dtype=dtype)


EQUAL = [
    (None, None, EXACT),
    (True, np.bool_(True), EXACT),
    (3, np.int8(3), EXACT),
    (np.array(2.5), 2.5, EXACT),
    ({"a": [1, {"b": "c"}]}, {"a": [1, {"b": "c"}]}, EXACT),
    (f(1, 2), f(1, 2, dtype="float32"), EXACT),
    (f(1.0), f(1.0 + 1e-7), Rule()),
    (1.0, 1.5, WIDE),
    ([1.0, {"a": f(3)}], [1.25, {"a": f(3.5)}], WIDE),
    (f(math.inf, -math.inf), f(math.inf, -math.inf), Rule()),
    (f(1, NAN), f(1, NAN), NAN_EQUAL),
    (f(3, 1, 2), f(1.05, 2, 3), ANY_ORDER),
    (np.array([2j, 1]), np.array([1, 2.05j]), ANY_ORDER),
    ([["a", 1.0], ["b", 2.0]], [["b", 2.05], ["a", 1.0]], ANY_ORDER),
    # 1.0 may pair with 0.95 or 1.05, 1.1 only with 1.05: a greedy choice in order would fail.
    ([[1.0], [1.1]], [[1.05], [0.95]], ANY_ORDER),
    ([1, "a", None], [None, 1, "a"], ANY_ORDER),
    ([NAN, 1.0], [1.0, NAN], Rule(ordered=False, equal_nan=True)),
]

DIFFERENT = [
    (None, False, EXACT),
    (True, 1, EXACT),
    (1, 1.0, Rule()),
    ("1", 1, EXACT),
    (1, 2, Rule(atol=5)),
    (np.array([True]), np.array([1]), Rule()),
    ([1.0], f(1), Rule()),
    (f(1), 1.0, Rule()),
    (f(1, 1), np.zeros(0), WIDE),
    (np.ones((2, 1)), np.ones((1, 2)), Rule()),
    ([1], [1, 2], Rule()),
    ([1, 2], [1], Rule(ordered=False)),
    ({"a": 1}, {"b": 1}, Rule()),
    (f(1), f(1 + 1e-15), EXACT),
    (f(NAN), f(NAN), Rule()),
    (f(1), f(NAN), Rule(rtol=math.inf)),
    (f(1), f(math.inf), Rule(rtol=1.0, atol=math.inf)),
    (math.inf, 1.0, Rule(rtol=1.0, atol=1.0)),
    (f(math.inf), f(-math.inf), NAN_EQUAL),
    (f(NAN), f(math.inf), NAN_EQUAL),
    (f(1, 2), f(2, 1), Rule()),
    (f(1, 2, 2), f(1, 1, 2), ANY_ORDER),
    ([[1, 2]], [[2, 1]], ANY_ORDER),
    (np.array([2j, 1]), np.array([1, 1]), ANY_ORDER),
    (np.array([[1, 2]]), np.array([[2, 1]]), ANY_ORDER),
]


@pytest.mark.parametrize(("expected", "actual", "rule"), EQUAL)
def test_equal(expected: Any, actual: Any, rule: Rule) -> None:
    assert difference(expected, actual, rule) == ""


@pytest.mark.parametrize(("expected", "actual", "rule"), DIFFERENT)
def test_different(expected: Any, actual: Any, rule: Rule) -> None:
    assert difference(expected, actual, rule).startswith("output 'x': ")


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        (
            f(1, 2, 4),
            f(1, 3, 2),
            (
                "output 'x': 2 of 3 values differ; largest absolute error 2; largest relative error 0.5\n"
                "  x[1]: expected 2.0, got 3.0\n  x[2]: expected 4.0, got 2.0"
            ),
        ),
        (
            np.zeros((2, 2)),
            np.zeros((4,)),
            (
                "output 'x': 1 place differs in structure\n"
                "  x: expected a float array of shape (2, 2), got a float array of shape (4,)"
            ),
        ),
        (
            np.zeros((2, 2)),
            np.array([[0, 0], [NAN, 0]]),
            "output 'x': 1 of 4 values differ\n  x[1, 0]: expected 0.0, got nan",
        ),
        (
            {"a": [1, 2.5], "b": 1, "c": "x"},
            {"a": [1, "y"], "c": "z", "d": None},
            (
                "output 'x': 1 of 2 values differ; 3 places differ in structure\n"
                "  x['a'][1]: expected the float 2.5, got the str 'y'\n  x['b']: expected the int 1, got nothing\n"
                "  x['c']: expected 'x', got 'z'\n  x['d']: expected nothing, got None"
            ),
        ),
        (
            f(3, 1),
            f(1, 2),
            (
                "output 'x': 1 of 2 values differ; largest absolute error 1; largest relative error 0.3333\n"
                "  sorted x[1]: expected 3.0, got 2.0"
            ),
        ),
        (
            [["a", 1], ["b", 2]],
            [["b", 2], ["c", 1]],
            (
                "output 'x': 1 place differs in structure\n"
                "  x: 1 of 2 expected elements have no equal partner in any order: ['a', 1]"
            ),
        ),
    ],
)
def test_text(expected: Any, actual: Any, text: str) -> None:
    unordered = text.count("sorted") or text.count("any order")
    assert difference(expected, actual, Rule(ordered=not unordered)) == text


def test_missing_extra_and_differing_outputs_are_all_named() -> None:
    found = compare({"a": 1, "b": 2.0, "c": 3}, {"b": 4.0, "c": 3, "d": [1]}, check(b=Rule(atol=1.0)))
    assert found == (
        "output 'a' is missing, expected the int 1\n"
        "output 'b': 1 of 1 values differ; largest absolute error 2; largest relative error 1\n"
        "  b: expected 2.0, got 4.0\n"
        "output 'd' is not expected, got a list of 1"
    )


def test_rule_of_the_output_beats_the_default() -> None:
    both = {"loose": 1.0, "tight": 1.0}, {"loose": 1.4, "tight": 1.4}
    found = compare(*both, check(EXACT, loose=WIDE))  # type: ignore[arg-type]
    assert found.startswith("output 'tight'")
    assert "loose" not in found


def test_at_most_five_examples_and_all_counted() -> None:
    text = difference([[float(i)] for i in range(20)], [[i + 1.0] for i in range(20)])
    assert text.startswith("output 'x': 20 of 20 values differ; largest absolute error 1;")
    assert text.count("expected") == 5


def test_text_is_bounded_whatever_the_values_are() -> None:
    names: dict[str, Any] = {"n" * 5000 + str(i): "v" * 10_000 for i in range(50)}
    found = compare(names, {name: value + "x" for name, value in names.items()}, check())
    assert found is not None
    assert len(found) == MAX_TEXT_CHARACTERS


def test_large_unordered_lists_are_matched_quickly_when_mostly_identical() -> None:
    expected = [[f"w{i}", float(i)] for i in range(5000)]
    actual = [[name, value + (0.01 if value < 100 else 0)] for name, value in reversed(expected)]
    assert difference(expected, actual, ANY_ORDER) == ""
    assert "at least 5 of 5000 expected elements" in difference(expected, [["?", 1.0]] * 5000, ANY_ORDER)


@given(data_values())
def test_data_without_nan_equals_itself(value: Any) -> None:
    assert compare({"x": value}, {"x": value}, check(NAN_EQUAL)) == ""
    unordered = Rule(ordered=False, equal_nan=True)
    assert compare({"x": value}, {"x": value}, check(unordered)) == ""


@given(data_values(), data_values(), st.booleans(), st.booleans())
@settings(max_examples=examples(200))
def test_any_two_values_compare_without_an_exception(one: Any, other: Any, exact: bool, ordered: bool) -> None:
    found = compare({"x": one}, {"x": other}, check(Rule(exact=exact, ordered=ordered)))
    assert len(found) <= MAX_TEXT_CHARACTERS


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_shuffled_within_tolerance_is_equal_in_any_order(values: list[float], random: Any) -> None:
    moved = [value + random.uniform(-0.099, 0.099) for value in values]
    random.shuffle(moved)
    assert difference(np.array(values), np.array(moved), ANY_ORDER) == ""
    boxed = [[value] for value in values]
    exactly = [[value] for value in values]
    random.shuffle(exactly)
    assert difference(boxed, exactly, ANY_ORDER) == ""


def near(one: Any, other: Any) -> bool:
    return bool(abs(one - other) <= 2)


@given(st.lists(st.integers(0, 4), max_size=5), st.data())
def test_finds_a_matching_exactly_when_there_is_one(expected: list[int], data: st.DataObject) -> None:
    size = len(expected)
    # Odd against even numbers: no element has an identical twin, so that every pair is found by the search.
    left = [2 * number for number in expected]
    right = [2 * number + 1 for number in data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))]
    possible = any(all(map(near, left, order)) for order in permutations(right))
    assert (match_in_any_order(list(left), list(right), equal=near) is None) is possible


def test_stops_naming_after_five() -> None:
    found = match_in_any_order(list(range(0, 100, 10)), [1000 + n for n in range(10)], equal=near)
    assert found == Unmatched((0, 10, 20, 30, 40), may_be_more=True)


def test_too_many_inexact_elements_are_not_searched() -> None:
    many = [10 * number for number in range(MAX_INEXACT + 1)]
    moved = [number + 1 for number in many]
    found = match_in_any_order(list(many), list(moved), equal=near)
    assert found is not None
    assert found.may_be_more
    assert match_in_any_order(list(many[:-1]), list(moved[:-1]), equal=near) is None


def test_no_dict_of_outputs() -> None:
    assert compare({"a": 1}, [1, 2], check()) == "run(case) returned a list of 2, expected a dict of outputs"
    with pytest.raises(TypeError, match="the reference returned a list of 1"):
        compare([1], {}, check())


def test_control_characters_of_values_are_escaped() -> None:
    assert "got 'a\\x00\\x1b[31m'" in difference("a", "a\0\x1b[31m")
