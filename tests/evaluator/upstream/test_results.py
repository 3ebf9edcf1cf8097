"""Results that would fool a test's comparison, and those that would not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evaluator.testing.box.travel import Packer
from evaluator.testing.upstream_results import EMPTY, NAN, WORDS, peculiarities


def of(value: object) -> set[str]:
    return peculiarities(Packer().pack(value), [], [])


def packed(root: object, *things: object) -> dict[str, Any]:
    return {"things": list(things), "root": root}


@pytest.mark.parametrize(
    "value", [1.5, -1, True, None, "text", [1, "", None], np.ones(2), {"a": (1, range(2))}, np.array(np.inf), b"\x00"]
)
def test_ordinary_results_are_not_peculiar(value: object) -> None:
    assert of(value) == set()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (range(0), EMPTY),
        ([range(3, 1)], EMPTY),
        ("", EMPTY),
        (b"", EMPTY),
        ([{}], EMPTY),
        (complex(0, float("nan")), NAN),
        ("Test Passed", WORDS),
        ({"Passed": 1}, WORDS),
        ([b"1 Failed"], WORDS),
    ],
)
def test_what_fools_a_comparison_is_found(value: object, kind: str) -> None:
    assert of(value) == {kind}


@pytest.mark.parametrize(
    ("root", "kinds"),
    [
        (np.ones(2), set()),
        ({"size": []}, {EMPTY}),
        ({"size": [2]}, set()),
        ({"range": [1, 2, 0]}, set()),
        ({"range": 3}, set()),
    ],
)
def test_forms_that_only_pytorch_or_a_forger_writes(root: object, kinds: set[str]) -> None:
    assert peculiarities(packed(root), [], []) == kinds


def test_a_data_frame_without_columns_is_empty() -> None:
    frame = {"frame": [[], {"column": np.arange(3)}]}
    assert peculiarities(packed({"thing": 0}, frame), [], []) == {EMPTY}


@pytest.mark.parametrize(
    ("bits", "kinds"),
    [(0x7FC0, {NAN}), (0xFFC1, {NAN}), (0x7F81, {NAN}), (0x7F80, set()), (0x3F80, set()), (0xFF80, set())],
)
def test_a_nan_of_16_bits_is_one(bits: int, kinds: set[str]) -> None:
    for shape in ((), (1, 2)):
        raw = np.full(shape, bits, dtype=np.uint16).view(np.int16)
        tensor = {"tensor": raw, "dtype": "bfloat16", "gradient": False}
        assert peculiarities(packed({"thing": 0}, tensor), [], []) == kinds
        assert peculiarities(packed({"thing": 0}, {**tensor, "dtype": "int16"}), [], []) == set()


def test_an_argument_that_is_handed_back_is_looked_at_and_no_other() -> None:
    arguments = [{"list": [1]}, {"list": []}, {"list": [{"thing": 1}, {"thing": 2}]}]
    assert peculiarities(packed({"thing": 0}), [], arguments) == set()
    assert peculiarities(packed({"thing": 1}), [], arguments) == {EMPTY}
    assert peculiarities(packed({"tuple": [{"thing": 2}]}), [], arguments) == {EMPTY}
    for wrong in (3, -1, True, "1", None):
        assert peculiarities(packed({"thing": wrong}), [], arguments) == set()


def test_changes_of_arguments_are_looked_at() -> None:
    assert peculiarities(packed(1), [[0, {"array": np.array([np.nan])}]], []) == {NAN}
