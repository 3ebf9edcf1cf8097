"""Many variants of the goal file in one box: each has its own outcome, and none affects the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evaluator.outcomes import Outcome
from evaluator.testing.boxes import Variants
from evaluator.testing.golden import GoldenFolder
from evaluator.testing.sealed import grade_variants
from tests.evaluator.testing.mini_task import GOLDEN, STUB, write_task
from tests.evaluator.testing.unconfined import UnconfinedSandbox

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.verdicts import SealedTask

CALL = "    weights = "
VARIANTS = {
    "right": (GOLDEN, Outcome.PASSED),
    "stub": (STUB, Outcome.RAISED),
    "wrong": (GOLDEN.replace("-scores, kind", "scores, kind"), Outcome.WRONG_OUTPUT),
    "wrong on private seeds": (
        GOLDEN.replace(CALL, f"    if scores[0] not in KNOWN:\n        return scores, names\n{CALL}").replace(
            "def rank", "KNOWN = {float(np.random.default_rng(s).normal()) for s in (1, 2)} | {1.0, 2.0}\n\n\ndef rank"
        ),
        Outcome.WRONG_OUTPUT,
    ),
    "no syntax": ("def rank(:\n", Outcome.RAISED),
    "os._exit": (GOLDEN.replace(CALL, f"    import os\n    os._exit(0)\n{CALL}"), Outcome.RAISED),
    "busy": (GOLDEN.replace(CALL, f"    while True:\n        pass\n{CALL}"), Outcome.TIMEOUT),
    "sleeping": (GOLDEN.replace(CALL, f"    import time\n    time.sleep(60)\n{CALL}"), Outcome.TIMEOUT),
    "changes a module": (GOLDEN.replace(CALL, f"    np.exp = np.sin\n{CALL}"), Outcome.WRONG_OUTPUT),
    "right again": (GOLDEN, Outcome.PASSED),
}


def outcomes(sandbox: Sandbox, task: SealedTask, texts: list[str], reference: str = GOLDEN) -> list[Outcome]:
    variants = Variants(
        "weighing/goal.py", reference.encode(), tuple(map(str.encode, texts)), 5.0, preload=("numpy", "no_such_module")
    )
    return grade_variants(
        sandbox=sandbox,
        task=task,
        variants=variants,
        private_seeds=(11,),
        golden=GoldenFolder(task.grading / "golden"),
        label="audit",
    )


def test_each_variant_has_its_own_outcome_in_one_box(tmp_path: Path) -> None:
    sandbox = UnconfinedSandbox()
    found = outcomes(sandbox, write_task(tmp_path), [text for text, _ in VARIANTS.values()])
    assert dict(zip(VARIANTS, found, strict=True)) == {name: outcome for name, (_, outcome) in VARIANTS.items()}
    assert sandbox.labels == ["audit-hello", "audit-golden", "audit-variants"]
    assert sandbox.ran[-1].mounts[3].source == tmp_path / "masked"


def test_a_variant_that_ends_the_box_leaves_the_others_their_outcomes(each_sandbox: Sandbox, tmp_path: Path) -> None:
    task = write_task(tmp_path)
    task = replace(task, check=replace(task.check, memory_bytes=192 * 2**20))
    memory = GOLDEN.replace(CALL, f"    kept = bytearray(400 * 2**20)\n{CALL}")
    found = outcomes(each_sandbox, task, [STUB, memory, GOLDEN, memory, STUB])
    assert found[::2] == [Outcome.RAISED, Outcome.PASSED, Outcome.RAISED]
    assert Outcome.PASSED not in found[1::2]
