"""The example of docs/submitting.md, packed as the page says and read as an upload would be."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from benchmark_tasks.domain.goals import Goal
from submissions.answers.limited import BundleRequest, check_limited
from submissions.answers.types import AnswerKind, TaskFiles
from tests.submissions.answers.archive_makers import make_zip

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "minimal-bundle"
MASKED = ROOT / "benchmark_tasks" / "suites" / "lmr-mini" / "01-DPO" / "preference-tuning"
GOAL = Goal("dpo/1", "preferences/objective.py", "preference_objective")
REQUEST = BundleRequest(tasks={"lmr-mini": {"dpo/1": TaskFiles(goal=GOAL, repository=MASKED)}})
TRY = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from types import SimpleNamespace as Some
from preferences.objective import preference_objective
policy = Some(chosen=np.array([-1.0, -2.0]), rejected=np.array([-3.0, -2.0]))
reference = Some(chosen=np.array([-1.5, -2.0]), rejected=np.array([-2.0, -2.5]))
for free in (False, True):
    config = Some(beta=0.5, label_smoothing=0.1, reference_free=free)
    terms = preference_objective(policy, reference, config)
    rewards = terms.chosen_rewards.tolist(), terms.rejected_rewards.tolist()
    print(terms.losses.round(6).tolist(), *rewards, terms.accuracy)
"""


@pytest.fixture
def example_files() -> dict[str, bytes]:
    files = {path.relative_to(EXAMPLE).as_posix(): path for path in EXAMPLE.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in sorted(files.items())}


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_the_example_reads_and_applies(tmp_path: Path, example_files: dict[str, bytes], form: str) -> None:
    upload = tmp_path / "upload"
    if form == "zip":
        upload.write_bytes(make_zip(example_files))
    else:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(EXAMPLE, arcname="minimal-bundle")
        upload.write_bytes(gzip.compress(packed.getvalue()))
    bundle = check_limited(upload, REQUEST)
    assert bundle.manifest is not None
    assert (bundle.manifest.suite, bundle.manifest.kind) == ("lmr-mini", "calibration")
    assert [(answer.task, answer.trial, answer.kind) for answer in bundle.answers] == [
        ("dpo/1", 1, AnswerKind.SOURCE),
        ("dpo/1", 2, AnswerKind.DIFF),
    ]
    assert bundle.answers[0].trajectory_name == "trajectory.jsonl"
    assert bundle.problems == ()
    assert [list(answer.applied.files) for answer in bundle.answers if answer.applied] == [
        ["preferences/objective.py"],
        ["preferences/objective.py", "preferences/ratios.py"],
    ]


def test_both_ways_to_write_the_answer_compute_the_same(tmp_path: Path, example_files: dict[str, bytes]) -> None:
    upload = tmp_path / "upload"
    upload.write_bytes(make_zip(example_files))
    outputs: list[str] = []
    for applied in [answer.applied for answer in check_limited(upload, REQUEST).answers]:
        assert applied is not None
        folder = tmp_path / f"tree-{len(outputs)}"
        for source in MASKED.rglob("*.py"):
            target = folder / source.relative_to(MASKED)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
        for name, text in applied.files.items():
            (folder / name).write_bytes(text.encode())
        run = subprocess.run(
            [sys.executable, "-I", "-B", "-c", TRY, str(folder)], capture_output=True, check=True, text=True
        )
        outputs.append(run.stdout)
    assert (
        outputs
        == ["[0.461871, 0.800939] [0.25, 0.0] [-0.5, 0.25] 0.5\n[0.413262, 0.693147] [0.25, 0.0] [-0.5, 0.25] 0.5\n"]
        * 2
    )


def test_the_page_shows_the_example_as_it_is() -> None:
    page = (ROOT / "docs" / "submitting.md").read_text(encoding="utf-8")
    for name in ("submission.json", "answers/dpo/1/trial-1/answer.py", "answers/dpo/1/trial-1/usage.json"):
        assert (EXAMPLE / name).read_text(encoding="utf-8") in page
