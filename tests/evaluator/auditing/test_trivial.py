"""Trivial answers."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from evaluator.auditing.trivial import trivial_answers

FUNCTION = 'def goal(a, b=2, *rest, key, **more):\n    """Say."""\n    raise NotImplementedError\n'
METHOD = (
    '    @staticmethod\n    def goal(cls, a):\n        """Say.\n\n  less indented\n"""\n'
    "        raise NotImplementedError\n"
)
CLASS = """
class Goal(dict):
    size = 3

    def __init__(self, a):
        raise NotImplementedError

    def first(self, a):
        raise NotImplementedError

    def second(self):
        raise NotImplementedError
"""
CONSTANTS: dict[str, object] = {
    "none": None,
    "empty list": [],
    "empty dict": {},
    "zero": 0,
    "zero float": 0.0,
    "one float": 1.0,
    "true": True,
    "false": False,
    "empty string": "",
}


def call(source: str, *args: object, **kwargs: object) -> Any:
    namespace: dict[str, Any] = {}
    exec(textwrap.dedent(source), namespace)  # noqa: S102 - our own generated answers
    return namespace["goal"](*args, **kwargs)


def test_every_answer_of_a_function() -> None:
    made = trivial_answers(FUNCTION)
    assert set(made) == {*CONSTANTS, "empty array", "first argument", "zeros like the first array"}
    for name, value in CONSTANTS.items():
        answer = call(made[name], 7, key=1)
        assert (type(answer), answer) == (type(value), value)
    assert call(made["first argument"], 7, key=1) == 7
    assert call(made["empty array"], 7, key=1).shape == (0,)
    zeros = call(made["zeros like the first array"], 7, 2, 3, np.ones((2, 3)), key=1)
    assert np.array_equal(zeros, np.zeros((2, 3)))


def test_signature_and_decorators_stay() -> None:
    source = trivial_answers(METHOD)["first argument"]
    assert source == "@staticmethod\ndef goal(cls, a):\n    return a\n"
    assert trivial_answers(FUNCTION)["none"].startswith("def goal(a, b=2, *rest, key, **more):\n")


def test_answers_about_arguments_need_arguments() -> None:
    made = trivial_answers("def goal(self):\n    pass\n")
    assert "first argument" not in made
    assert "zeros like the first array" not in made
    assert call(trivial_answers("def goal(*parts):\n    pass\n")["first argument"], 5) == 5


def test_class_gets_every_method_replaced_and_can_be_made() -> None:
    made = trivial_answers(CLASS)
    namespace: dict[str, Any] = {}
    exec(made["first argument"], namespace)  # noqa: S102 - our own generated answers
    goal = namespace["Goal"](9)
    assert (goal.first(4), goal.second(), goal.size) == (4, None, 3)


@pytest.mark.parametrize("source", ["x = 1\n", "def a(): pass\ndef b(): pass\n", ""])
def test_source_other_than_one_definition_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="exactly one function or class definition"):
        trivial_answers(source)
