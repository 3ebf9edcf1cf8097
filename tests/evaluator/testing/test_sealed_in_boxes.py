"""The mini task in real boxes of both kinds: the same verdicts, and the endings that only a real box can give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.sandbox.types import Sandbox
from evaluator.testing import golden
from evaluator.testing.sealed import grade
from evaluator.testing.types import Outcome, SealedTask, Verdict
from tests.evaluator.sandbox.boxes import leftovers, own
from tests.evaluator.testing.mini_task import GOLDEN, STUB, MemoryStore, write_task, write_tree

LABEL = own("grading-test")
EACH_CALL = "    weights = "


@pytest.fixture
def box_sandbox(each_sandbox: Sandbox) -> Iterator[Sandbox]:
    """Each sandbox, in which no box is left afterwards."""
    yield each_sandbox
    assert [leftovers(f"{LABEL}-{box}") for box in ("hello", "golden", "public", "private")] == [[]] * 4


@pytest.fixture(scope="module")
def box_task(tmp_path_factory: pytest.TempPathFactory) -> SealedTask:
    task = write_task(tmp_path_factory.mktemp("mini") / "task")
    return replace(task, check=replace(task.check, wall_seconds=4.0, memory_bytes=192 * 2**20))


@pytest.fixture(scope="module")
def box_store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def _fresh_families() -> None:
    """One hello of each kind of box for all tests here."""


def in_boxes(task: SealedTask, sandbox: Sandbox, store: MemoryStore, tree: Path) -> Verdict:
    return grade(sandbox=sandbox, task=task, candidate_tree=tree, private_seeds=(11,), golden=store, label=LABEL)


BODIES = {
    "busy": ("    while True:\n        pass\n", Outcome.TIMEOUT),
    "memory": ("    bytearray(400 * 2**20)\n", Outcome.OUT_OF_MEMORY),
    "output flood": ("    import os\n    while True:\n        os.write(3, b'{}\\n' * 10_000)\n", Outcome.TAMPERING),
    "large outputs": ("    return np.zeros(2_000_000), names\n", Outcome.OUTPUT_LIMIT),
    "looks for the cases": (
        "    import os\n    assert not os.path.exists('/box/cases.py')\n    names = names[::-1]\n",
        Outcome.WRONG_OUTPUT,
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_outcome(name: str, box_task: SealedTask, box_sandbox: Sandbox, box_store: MemoryStore, tmp_path: Path) -> None:
    body, outcome = BODIES[name]
    tree = write_tree(tmp_path / "tree", GOLDEN.replace(EACH_CALL, body + EACH_CALL))
    verdict = in_boxes(box_task, box_sandbox, box_store, tree)
    assert verdict.outcome is outcome, verdict


def test_golden_passes(box_task: SealedTask, box_sandbox: Sandbox, box_store: MemoryStore) -> None:
    verdict = in_boxes(box_task, box_sandbox, box_store, box_task.reference_repository)
    assert (verdict.outcome, len(verdict.cases), verdict.log) == (Outcome.PASSED, 9, "")


def test_stub_raises(box_task: SealedTask, box_sandbox: Sandbox, box_store: MemoryStore) -> None:
    verdict = in_boxes(box_task, box_sandbox, box_store, box_task.repository)
    assert verdict.reason == "seed 1, case 0: NotImplementedError"
    assert "NotImplementedError" in STUB


def test_the_box_reports_a_full_family(box_task: SealedTask, box_sandbox: Sandbox) -> None:
    family = golden.box_family(sandbox=box_sandbox, environment="numpy", label=LABEL, cancelled=lambda: False)
    machine, _, rest = family.partition("-")
    blas, _, fingerprint = rest.rpartition("-")
    assert machine
    assert "openblas" in blas
    assert len(fingerprint) == 16
    assert fingerprint != "e3b0c44298fc1c14", "the box must be able to read /proc/cpuinfo"
