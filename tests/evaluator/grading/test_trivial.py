"""Trivial answers and the audit."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.grading.trivial import audit, trivial_answers
from evaluator.grading.types import Outcome, SealedTask
from tests.evaluator.grading.mini_task import STUB, MemoryStore, write_task, write_tree
from tests.evaluator.grading.unconfined import UnconfinedSandbox

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


def sources(goal: str) -> dict[str, str]:
    return {answer.name: answer.source for answer in trivial_answers(goal)}


def test_every_answer_of_a_function() -> None:
    made = sources(FUNCTION)
    assert set(made) == {*CONSTANTS, "empty array", "first argument", "zeros like the first array"}
    for name, value in CONSTANTS.items():
        answer = call(made[name], 7, key=1)
        assert (type(answer), answer) == (type(value), value)
    assert call(made["first argument"], 7, key=1) == 7
    assert call(made["empty array"], 7, key=1).shape == (0,)
    zeros = call(made["zeros like the first array"], 7, 2, 3, np.ones((2, 3)), key=1)
    assert np.array_equal(zeros, np.zeros((2, 3)))


def test_signature_and_decorators_stay() -> None:
    source = sources(METHOD)["first argument"]
    assert source == "@staticmethod\ndef goal(cls, a):\n    return a\n"
    assert sources(FUNCTION)["none"].startswith("def goal(a, b=2, *rest, key, **more):\n")


def test_answers_about_arguments_need_arguments() -> None:
    made = sources("def goal(self):\n    pass\n")
    assert "first argument" not in made
    assert "zeros like the first array" not in made
    assert call(sources("def goal(*parts):\n    pass\n")["first argument"], 5) == 5


def test_class_gets_every_method_replaced_and_can_be_made() -> None:
    made = sources(CLASS)
    namespace: dict[str, Any] = {}
    exec(made["first argument"], namespace)  # noqa: S102 - our own generated answers
    goal = namespace["Goal"](9)
    assert (goal.first(4), goal.second(), goal.size) == (4, None, 3)


@pytest.mark.parametrize("source", ["x = 1\n", "def a(): pass\ndef b(): pass\n", ""])
def test_what_is_no_definition_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="exactly one function or class definition"):
        trivial_answers(source)


def _audit(task: SealedTask, sandbox: UnconfinedSandbox, folder: Path) -> Any:
    built: list[Path] = []

    def build_tree(source: str) -> Path:
        built.append(write_tree(folder / f"tree-{len(built)}", source))
        return built[-1]

    return audit(
        sandbox=sandbox,
        task=task,
        goal_source=STUB[STUB.index("def rank") :],
        build_tree=build_tree,
        private_seeds=(11,),
        golden=MemoryStore(),
        label="audit",
    )


def test_audit_of_a_good_task(task: SealedTask, sandbox: UnconfinedSandbox, tmp_path: Path) -> None:
    result = _audit(task, sandbox, tmp_path)
    assert (result.golden_passes, result.stub_fails, result.passed, result.reasons) == (True, True, True, ())
    assert result.stub is Outcome.RAISED
    assert len(result.trivial) == 12
    assert Outcome.PASSED not in {outcome for _, outcome in result.trivial}


def test_audit_of_a_weak_task(tmp_path: Path, sandbox: UnconfinedSandbox) -> None:
    weak = write_task(
        tmp_path / "weak",
        run="from ranking import goal\n\n\ndef run(case):\n    goal.rank(**case)\n    return {'answered': True}\n",
    )
    result = _audit(weak, sandbox, tmp_path)
    assert result.golden_passes
    assert result.stub_fails
    assert not result.passed
    assert len(result.reasons) == 12
    assert result.reasons[0] == "the trivial answer 'none' passes"


def test_audit_sees_a_stub_that_passes_and_a_golden_that_fails(tmp_path: Path, sandbox: UnconfinedSandbox) -> None:
    odd = write_task(
        tmp_path / "odd",
        golden="import random\nimport time\n\n\ndef rank(scores, names):\n    return time.time_ns()\n",
        run="from ranking import goal\n\n\ndef run(case):\n    return {'answer': goal.rank(**case)}\n",
    )
    unstable = replace(odd, check=replace(odd.check, public_seeds=(1,)))
    result = _audit(unstable, sandbox, tmp_path)
    assert not result.golden_passes
    assert result.reasons[0].startswith(
        "the golden function does not pass (wrong_output: seed 1, case 0: output 'answer'"
    )
    idle = write_task(tmp_path / "idle", run="import ranking.goal\n\n\ndef run(case):\n    return {'answer': 1}\n")
    result = _audit(idle, sandbox, tmp_path / "idle-trees")
    assert not result.stub_fails
    assert result.reasons[0] == "the masked stub passes"
