"""How far reference outputs move on another processor, against the tolerance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evaluator.auditing.margins import (
    LARGEST,
    VARIATIONS,
    Margins,
    Moved,
    case_margins,
    measure_margins,
)
from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError
from evaluator.testing.golden import GoldenFolder, compute_golden
from evaluator.testing.verdicts import Check, Rule
from tests.evaluator.testing.mini_task import CHECK, write_task
from tests.evaluator.testing.unconfined import UnconfinedSandbox

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.interface import BoxResult, BoxSpec

RULE = Rule(rtol=0.01, atol=0.1)


def margin(expected: Any, actual: Any, rule: Rule = RULE) -> float:
    check = Check(public_seeds=(1,), private_seed_count=1, default_rule=rule)
    return case_margins({"value": expected}, {"value": actual}, check)["value"]


@pytest.mark.parametrize(
    ("expected", "actual", "share"),
    [
        (10.0, 10.1, 0.5),
        (-10.0, -10.3, 1.5),
        (np.array([1.0, 90.0]), np.array([1.055, 90.0]), 0.5),
        (np.array([], dtype=float), np.array([], dtype=float), 0.0),
        ([{"deep": 10.0}, 1], [{"deep": 10.1}, 1], 0.5),
        (float("nan"), float("nan"), 0.0),
        (float("inf"), float("inf"), 0.0),
        (None, None, 0.0),
    ],
)
def test_the_margin_is_the_share_of_the_tolerance(expected: Any, actual: Any, share: float) -> None:
    assert margin(expected, actual) == pytest.approx(share)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (7, 8),
        (True, False),
        (1.0, float("nan")),
        (1.0, 1),
        (np.zeros(2), np.zeros(3)),
        ({"a": 1.0}, {"b": 1.0}),
        (1e300, -1e300),
    ],
)
def test_any_change_without_a_tolerance_exceeds_it(expected: Any, actual: Any) -> None:
    assert margin(expected, actual, Rule(rtol=1e-9, atol=0.0)) == LARGEST


def test_exact_outputs_may_not_move_at_all() -> None:
    exact = Rule(exact=True)
    assert margin(1.0, np.nextafter(1.0, 2.0), exact) == LARGEST
    assert margin(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), exact) == 0.0


def test_unordered_outputs_are_compared_sorted() -> None:
    loose = Rule(rtol=0.0, atol=1.0, ordered=False)
    assert margin(np.array([1.0, 5.0]), np.array([5.25, 1.0]), loose) == pytest.approx(0.25)
    assert margin([1.0, "a"], ["a", 1.0], loose) == 0.0
    assert margin([1.0, "a"], ["b", 1.0], loose) == LARGEST


def test_outputs_with_their_own_rules_and_missing_outputs() -> None:
    check = Check(
        public_seeds=(1,), private_seed_count=1, default_rule=RULE, output_rules=(("tight", Rule(rtol=0, atol=0.01)),)
    )
    found = case_margins({"tight": 1.0, "gone": 2.0}, {"tight": 1.005}, check)
    assert found == {"tight": pytest.approx(0.5), "gone": LARGEST}


def test_half_the_tolerance_is_a_remark_and_more_than_all_of_it_a_finding() -> None:
    moved = (Moved("a", "4 threads", 0.5), Moved("b", "4 threads", 0.75), Moved("c", "an older processor", 3.0))
    found = Margins(moved, tried=("4 threads",), untried=())
    assert found.remarks == ("the reference uses 75% of the tolerance of output 'b' on another processor (4 threads)",)
    assert found.reasons == (
        (
            "the reference moves out of its own tolerance on another processor: output 'c' by 3 times the tolerance "
            "(an older processor)"
        ),
    )


@dataclass
class VariedSandbox(UnconfinedSandbox):
    """Cannot run boxes with a variable named in ``broken``."""

    broken: dict[str, Exception] = field(default_factory=dict)

    def run(self, spec: BoxSpec, **options: Any) -> BoxResult:
        for name, _ in spec.variables:
            if name in self.broken:
                self.ran.append(spec)
                raise self.broken[name]
        return super().run(spec, **options)


MOVING = """
import os


def rank(scores, names):
    # On four threads the sum is another one.
    moved = 1e-6 if os.environ.get("OMP_NUM_THREADS") == "4" else 0.0
    return scores * (1.0 + moved), list(names)
"""


def test_every_variation_is_tried_on_the_same_cases(tmp_path: Path) -> None:
    sandbox = VariedSandbox(broken={"OPENBLAS_CORETYPE": SandboxError("no box")})
    task = write_task(tmp_path / "task", golden=MOVING, check=CHECK)
    golden = compute_golden(
        sandbox=sandbox, task=task, seeds=(1, 2), golden=GoldenFolder(tmp_path / "golden"), label="audit"
    )
    sandbox.ran.clear()
    found = measure_margins(sandbox=sandbox, task=task, golden=golden, label="audit")
    assert [dict(spec.variables) for spec in sandbox.ran] == list(VARIATIONS.values())
    assert (found.tried, found.untried) == (("4 threads",), ("an older processor",))
    worst = {moved.output: moved for moved in found.moved}
    assert (worst["weights"].variation, worst["order"].margin) == ("4 threads", 0.0)
    assert 0.9 < worst["weights"].margin <= 1.0


def test_without_any_sandbox_nothing_is_measured(tmp_path: Path) -> None:
    sandbox = VariedSandbox(broken={"OPENBLAS_CORETYPE": SandboxUnavailableError("gone")})
    task = write_task(tmp_path / "task")
    with pytest.raises(SandboxUnavailableError):
        measure_margins(sandbox=sandbox, task=task, golden={}, label="audit")
