"""How far golden outputs move between processor types and thread counts, against the task's tolerance. No Django here.

A task whose golden outputs leave their own tolerance on another machine would fail right answers there. Real machines
of other types are not at hand, but the numerical libraries can be told to compute as if they were on one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluator.sandbox.types import SandboxError, SandboxUnavailableError
from evaluator.testing.comparison import compare
from evaluator.testing.golden import GoldenError, run_reference
from evaluator.testing.types import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.golden import GoldenCase
    from evaluator.testing.types import Data, Rule, SealedTask

REMARKABLE = 0.5
"""Margins above this are told to the author; above 1 the audit fails."""
LARGEST = 1e6
"""What is reported for values that cannot be compared at all (and for anything larger)."""

_WIDE = "AVX2 FMA3 F16C AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V3 X86_V4"


@dataclass(frozen=True, slots=True)
class Variation:
    """A machine to pretend to be: a name for people, and the environment variables that do it."""

    name: str
    variables: tuple[tuple[str, str], ...]


def _threads(count: int) -> Variation:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return Variation(f"{count} threads", tuple((name, str(count)) for name in names))


VARIATIONS = (
    Variation("OpenBLAS for Haswell", (("OPENBLAS_CORETYPE", "Haswell"),)),
    Variation("OpenBLAS for Nehalem", (("OPENBLAS_CORETYPE", "Nehalem"),)),
    Variation("OpenBLAS for Prescott", (("OPENBLAS_CORETYPE", "Prescott"),)),
    Variation("NumPy without AVX2", (("NPY_DISABLE_CPU_FEATURES", _WIDE),)),
    _threads(2),
    _threads(4),
)


@dataclass(frozen=True, slots=True)
class Moved:
    """The largest margin of one output over all variations: |a - b| / (atol + rtol |b|), 0 where nothing moved."""

    output: str
    variation: str
    margin: float


@dataclass(frozen=True, slots=True)
class Margins:
    """What became of every output, and which variations could not be tried here and why."""

    moved: tuple[Moved, ...]
    tried: tuple[str, ...]
    untried: tuple[tuple[str, str], ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Outputs that leave their own tolerance."""
        return tuple(
            f"golden moves out of its own tolerance between CPU types: output '{moved.output}' by {moved.margin:.3g} "
            f"times the tolerance ({moved.variation})"
            for moved in self.moved
            if moved.margin > 1
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Outputs that come near to it."""
        return tuple(
            f"golden uses {moved.margin:.0%} of the tolerance of output '{moved.output}' between CPU types "
            f"({moved.variation})"
            for moved in self.moved
            if REMARKABLE < moved.margin <= 1
        )


def measure_margins(
    *,
    sandbox: Sandbox,
    task: SealedTask,
    golden: dict[int, tuple[GoldenCase, ...]],
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> Margins:
    """Run the golden function once more for every variation, on the seeds of ``golden``, which it is compared with.

    A variation that this machine or the environment cannot do is left out, with the reason. Raises
    ``SandboxUnavailableError`` when there is no sandbox at all.
    """
    largest: dict[str, Moved] = {}
    tried: list[str] = []
    untried: list[tuple[str, str]] = []
    for variation in VARIATIONS:
        try:
            outputs = run_reference(
                sandbox=sandbox,
                task=task,
                seeds=tuple(golden),
                label=label,
                cancelled=cancelled,
                variables=variation.variables,
            )
        except SandboxUnavailableError:
            raise
        except GoldenError:
            untried.append((variation.name, "the golden function does not run so on this machine"))
            continue
        except SandboxError:
            untried.append((variation.name, "no box starts so on this machine"))
            continue
        tried.append(variation.name)
        for seed, cases in golden.items():
            for before, after in zip(cases, outputs[seed], strict=True):
                for name, margin in case_margins(before.output, after.output, task.check).items():
                    if name not in largest or margin > largest[name].margin:
                        largest[name] = Moved(name, variation.name, margin)
    return Margins(tuple(largest.values()), tuple(tried), tuple(untried))


def case_margins(expected: dict[str, Data], actual: dict[str, Data], check: Check) -> dict[str, float]:
    """For each expected output how far ``actual`` is away, as a share of the tolerance, at most ``LARGEST``.

    What has no tolerance (text, whole numbers, exact outputs, shapes) is 0 where it is equal and ``LARGEST`` where not.
    """
    rules = dict(check.output_rules)
    return {
        name: min(_margin(value, actual.get(name), rules.get(name, check.default_rule)), LARGEST)
        for name, value in expected.items()
    }


def _margin(expected: Data, actual: Data, rule: Rule) -> float:
    if not rule.ordered:
        return _sorted_margin(expected, actual, rule)
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return max((_margin(*pair, rule) for pair in zip(expected, actual, strict=True)), default=0.0)
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        return max((_margin(value, actual[name], rule) for name, value in expected.items()), default=0.0)
    if isinstance(expected, list | dict) or isinstance(actual, list | dict):
        return LARGEST
    return _array_margin(expected, actual, rule)


def _sorted_margin(expected: Data, actual: Data, rule: Rule) -> float:
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray) and expected.ndim == actual.ndim == 1:
        return _array_margin(np.sort(expected), np.sort(actual), rule)
    alone = Check(public_seeds=(), private_seed_count=0, default_rule=rule)
    return 0.0 if compare({"output": expected}, {"output": actual}, alone) is None else LARGEST


def _array_margin(expected: Data, actual: Data, rule: Rule) -> float:
    one, other = np.asarray(expected), np.asarray(actual)
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return LARGEST
    if one.dtype.kind not in "fc" or rule.exact:
        return 0.0 if np.array_equal(one, other, equal_nan=one.dtype.kind in "fc") else LARGEST
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    one, other = one.astype(wide), other.astype(wide)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(all="ignore"):
        share = np.abs(other - one) / (rule.atol + rule.rtol * np.abs(one))
    share = np.where(same, 0.0, np.where(np.isfinite(share), share, LARGEST))
    return float(share.max(initial=0.0))
