"""The reference box and the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.sandbox.interface import Sandbox, SandboxError
from evaluator.testing import golden
from evaluator.testing.golden import GoldenError, GoldenFolder, compute_golden, golden_key
from evaluator.testing.verdicts import SealedTask
from tests.evaluator.testing.mini_task import GOLDEN, write_task
from tests.evaluator.testing.unconfined import AlteringSandbox, UnconfinedSandbox

KEY: dict[str, Any] = {"grading_hash": "hash", "seed": 1, "environment_digest": "digest", "cpu_family": "x86"}


def entries(tmp_path: Path) -> dict[str, bytes]:
    """The content of the store."""
    return {path.name: path.read_bytes() for path in (tmp_path / "golden").glob("*")}


def test_only_missing_seeds_are_computed(
    task: SealedTask, sandbox: UnconfinedSandbox, store: GoldenFolder, tmp_path: Path
) -> None:
    first = compute_golden(sandbox=sandbox, task=task, seeds=(1,), golden=store, label="a")
    again = compute_golden(sandbox=sandbox, task=task, seeds=(1,), golden=store, label="b")
    assert sandbox.labels == ["a-hello", "a-golden"]
    assert [case.output["order"] for case in again[1]] == [case.output["order"] for case in first[1]]
    compute_golden(sandbox=sandbox, task=task, seeds=(1, 2), golden=store, label="c")
    assert sandbox.labels == ["a-hello", "a-golden", "c-golden"]
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damaged_entries_are_computed_again(
    task: SealedTask, sandbox: UnconfinedSandbox, store: GoldenFolder, tmp_path: Path, damage: bytes | None
) -> None:
    compute_golden(sandbox=sandbox, task=task, seeds=(1,), golden=store, label="a")
    ((name, whole),) = entries(tmp_path).items()
    without_last = whole[: whole[:-1].rindex(b"\n") + 1]
    store.put(name, without_last if damage is None else damage)
    compute_golden(sandbox=sandbox, task=task, seeds=(1,), golden=store, label="b")
    assert sandbox.labels == ["a-hello", "a-golden", "b-golden"]
    assert len(entries(tmp_path)[name]) == len(whole)


@pytest.mark.parametrize(
    "changed", [{"grading_hash": "other"}, {"seed": 2}, {"environment_digest": "other"}, {"cpu_family": "arm"}], ids=str
)
def test_every_part_of_the_key_counts(changed: dict[str, Any]) -> None:
    key = golden_key(**KEY)
    assert len(key) == 64
    assert golden_key(**{**KEY, **changed}) != key


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"golden": "raise ValueError('broken')\n"},
            r"weighing/1: the reference failed: seed None: ValueError: broken",
        ),
        (
            {"golden": GOLDEN.replace("    weights = ", "    raise KeyError(7)\n    weights = ")},
            r"seed 1: KeyError: 7\n(.*\n)*.*repository/weighing/goal.py:7 in rank",
        ),
        ({"cases": "def cases(seed):\n    return []\n"}, r"cases\(1\) must return a list of at least one dict"),
        ({"cases": "def cases(seed):\n    return [1]\n"}, r"cases\(1\) must return a list of at least one dict"),
        ({"cases": "def cases(seed):\n    return [{'a': object()}]\n"}, r"FrameError: a object is not plain data"),
        ({"cases": "x = 1\n"}, r"AttributeError: module 'box_cases' has no attribute 'cases'"),
        ({"run": "def run(case):\n    return 3\n"}, r"run\(case\) of run.py must return a dict of outputs"),
        ({"run": "import os\n\n\ndef run(case):\n    os._exit(3)\n"}, r"ended with exited \(exit code 3\) before"),
    ],
)
def test_a_failing_reference_is_an_infrastructure_error(
    tmp_path: Path, sandbox: UnconfinedSandbox, store: GoldenFolder, changed: dict[str, str], message: str
) -> None:
    task = write_task(tmp_path / "broken", **changed)  # type: ignore[arg-type]
    with pytest.raises(GoldenError, match=message):
        compute_golden(sandbox=sandbox, task=task, seeds=(1,), golden=store, label="a")
    assert entries(tmp_path) == {}
    assert issubclass(GoldenError, SandboxError)


def test_a_reference_that_changes_its_input_leaves_the_case_as_it_was(
    tmp_path: Path, sandbox: UnconfinedSandbox, store: GoldenFolder
) -> None:
    task = write_task(
        tmp_path / "mutating", golden=GOLDEN.replace("    weights = ", "    scores[:] = 0\n    weights = ")
    )
    (_, _, edge) = compute_golden(sandbox=sandbox, task=task, seeds=(4,), golden=store, label="a")[4]
    assert np.array_equal(np.asarray(edge.case["scores"]), [4.0])
    assert np.array_equal(np.asarray(edge.output["scores_afterwards"]), [0.0])


@pytest.mark.parametrize("tail", [b'{"dict":', b"garbage"])
def test_anything_after_the_last_golden_message_is_refused(
    task: SealedTask, store: GoldenFolder, tmp_path: Path, tail: bytes
) -> None:
    noisy = AlteringSandbox(suffix="-golden", alter=lambda result: replace(result, stdout=result.stdout + tail))
    with pytest.raises(GoldenError, match="the reference box ended with exited"):
        compute_golden(sandbox=noisy, task=task, seeds=(1,), golden=store, label="a")
    assert entries(tmp_path) == {}


def test_a_real_box_reports_a_full_family(each_sandbox: Sandbox) -> None:
    family = golden.box_family(sandbox=each_sandbox, environment="numpy", label="family", cancelled=lambda: False)
    machine, _, rest = family.partition("-")
    blas, _, fingerprint = rest.rpartition("-")
    assert machine
    assert "openblas" in blas
    assert len(fingerprint) == 16
    assert fingerprint != "e3b0c44298fc1c14", "the box must be able to read /proc/cpuinfo"
