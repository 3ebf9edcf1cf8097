"""Measure how far reference outputs move on another processor, relative to the task's tolerance. No Django here.

A task whose reference outputs leave their own tolerance on another machine would fail right answers there. Other
machines are not available, but numerical libraries can be made to compute as if on one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError
from evaluator.testing.comparison import compare
from evaluator.testing.golden import run_reference
from evaluator.testing.verdicts import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.golden import GoldenCase
    from evaluator.testing.verdicts import Data, Rule, SealedTask

REMARKABLE = 0.5
"""Margins above this are reported to the author; above 1 the audit fails."""
LARGEST = 1e6
"""Margin reported for values that cannot be compared at all, and the upper limit of all margins."""

_WIDE = "AVX2 FMA3 F16C AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V3 X86_V4"
VARIATIONS: Final[dict[str, dict[str, str]]] = {
    "an older processor": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": _WIDE},
    "4 threads": dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "4"),
}
"""Simulated machines, with the environment variables that simulate them."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The largest margin of one output over all variations: |a - b| / (atol + rtol |b|), 0 if nothing moved."""

    output: str
    variation: str
    margin: float


@dataclass(frozen=True, slots=True)
class Margins:
    """Margins of every output, and which variations were tried and which cannot be tried here."""

    moved: tuple[Moved, ...]
    tried: tuple[str, ...]
    untried: tuple[str, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Outputs that leave their own tolerance."""
        return tuple(
            f"the reference moves out of its own tolerance on another processor: output '{moved.output}' by "
            f"{moved.margin:.3g} times the tolerance ({moved.variation})"
            for moved in self.moved
            if moved.margin > 1
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Outputs that come near their tolerance."""
        return tuple(
            f"the reference uses {moved.margin:.0%} of the tolerance of output '{moved.output}' on another processor "
            f"({moved.variation})"
            for moved in self.moved
            if REMARKABLE < moved.margin <= 1
        )

    def as_data(self) -> dict[str, Any]:
        """Return plain data for storing."""
        return {
            "outputs": [asdict(each) for each in self.moved],
            "tried": list(self.tried),
            "untried": list(self.untried),
        }


def measure_margins(
    *,
    sandbox: Sandbox,
    task: SealedTask,
    golden: dict[int, tuple[GoldenCase, ...]],
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> Margins:
    """Run the reference again for every variation on the seeds of ``golden``, and compare the outputs with it.

    Variations that this machine or the environment does not support are left out. Raises ``SandboxUnavailableError``
    when there is no sandbox at all.
    """
    largest: dict[str, Moved] = {}
    tried = []
    for variation, variables in VARIATIONS.items():
        try:
            outputs = run_reference(
                sandbox=sandbox,
                task=task,
                seeds=tuple(golden),
                label=label,
                cancelled=cancelled,
                variables=tuple(variables.items()),
            )
        except SandboxUnavailableError:
            raise
        except SandboxError:
            continue
        tried.append(variation)
        for seed, cases in golden.items():
            for before, after in zip(cases, outputs[seed], strict=True):
                for name, margin in case_margins(before.output, after.output, task.check).items():
                    if name not in largest or margin > largest[name].margin:
                        largest[name] = Moved(name, variation, margin)
    return Margins(tuple(largest.values()), tuple(tried), tuple(name for name in VARIATIONS if name not in tried))


def case_margins(expected: dict[str, Data], actual: dict[str, Data], check: Check) -> dict[str, float]:
    """Return each expected output's distance from ``actual`` as a multiple of the tolerance, at most ``LARGEST``.

    Values without a tolerance (text, integers, exact outputs, shapes) count 0 if equal and ``LARGEST`` if not.
    """
    rules = dict(check.output_rules)
    return {
        name: min(_margin(value, actual.get(name), rules.get(name, check.default_rule)), LARGEST)
        for name, value in expected.items()
    }


def _margin(expected: Data, actual: Data, rule: Rule) -> float:
    if rule.ordered and isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return max((_margin(*pair, rule) for pair in zip(expected, actual, strict=True)), default=0.0)
    if rule.ordered and isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        return max((_margin(value, actual[name], rule) for name, value in expected.items()), default=0.0)
    alone = Check(public_seeds=(), private_seed_count=0, default_rule=replace(rule, equal_nan=True))
    equal = not compare({"output": expected}, {"output": actual}, alone)
    if isinstance(expected, list | dict) or isinstance(actual, list | dict):
        return 0.0 if equal else LARGEST
    one, other = np.asarray(expected), np.asarray(actual)
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind or one.dtype.kind not in "fc" or rule.exact:
        return 0.0 if equal else LARGEST
    if not rule.ordered and one.ndim == 1:
        one, other = np.sort(one), np.sort(other)
    return _largest_share(one, other, rule)


def _largest_share(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], rule: Rule) -> float:
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    one, other = one.astype(wide), other.astype(wide)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(all="ignore"):
        share = np.abs(other - one) / (rule.atol + rule.rtol * np.abs(one))
    share = np.where(same, 0.0, np.where(np.isfinite(share), share, LARGEST))
    return float(share.max(initial=0.0))
