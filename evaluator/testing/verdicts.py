"""Types used in grading: seeds, test cases, verdicts. No Django here.

Source: docs/design/verdicts.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from evaluator.outcomes import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Data: TypeAlias = "bool | int | float | str | list[Data] | dict[str, Data] | NDArray[np.generic] | None"
    """What boxes exchange with the outside: plain data and raw arrays, never objects."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How one output is compared: exactly, or within ``|actual - expected| <= atol + rtol * |expected|``.

    Structure, dtype kind, shape and finiteness are compared before values, regardless of the tolerances.
    With ``ordered`` false a list (or a one-dimensional array) is compared as a multiset.
    """

    exact: bool = False
    rtol: float = 1e-6
    atol: float = 1e-8
    ordered: bool = True
    equal_nan: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A sealed task's declared comparison, seeds and limits (``check`` in info.json)."""

    public_seeds: tuple[int, ...]
    private_seed_count: int
    default_rule: Rule = field(default_factory=Rule)
    output_rules: tuple[tuple[str, Rule], ...] = ()
    wall_seconds: float = 30.0
    memory_bytes: int = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SealedTask:
    """What the evaluator needs of one sealed task revision. Tests make it from folders, without a database.

    ``repository`` is the masked repository, ``grading`` the folder that the importer stored under ``grading_hash``.
    """

    name: str
    repository: Path
    grading: Path
    check: Check
    environment: str
    grading_hash: str

    @property
    def reference_repository(self) -> Path:
        """The repository with the golden file in the goal file's place."""
        return self.grading / "reference"

    @property
    def cases_file(self) -> Path:
        """``cases(seed)``; only ever mounted in the reference box."""
        return self.grading / "cases.py"

    @property
    def run_file(self) -> Path:
        """``run(case)``; mounted in both boxes."""
        return self.grading / "run.py"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One test case of one seed, or one test of an upstream unit test file, which has a ``name`` and no seed.

    ``difference`` and ``error`` are empty for private seeds; their ``outcome`` is for operators only.
    """

    seed: int | None
    index: int
    public: bool
    outcome: Outcome
    difference: str = ""
    error: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a test run: the first failing public test case decides the outcome.

    If all of them pass and private ones fail, it is ``WRONG_OUTPUT``, however these ended, and ``reason`` gives the
    number that passed. ``log`` is what the candidate printed in the public box, bounded, without control characters;
    ``seconds`` is how long the public test cases took.
    """

    outcome: Outcome
    cases: tuple[CaseResult, ...]
    log: str
    seconds: float
    reason: str = ""
