"""The tasks in ``dataset/``, which has exactly upstream's layout, and upstream's own way to judge an answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmark_tasks.domain.goals import Goal
from evaluator.testing.upstream_boxes import UpstreamTask

DATASET = Path(__file__).parent / "dataset"
STUB = 'raise NotImplementedError("not implemented")'


def load_task(folder: str, root: Path, *, environment: str = "numpy") -> UpstreamTask:
    """The task in ``dataset/<folder>``, with its reference repository made below ``root``."""
    home = DATASET / folder
    facts: dict[str, Any] = json.loads((home / "info.json").read_text())
    (info,) = facts["implementations"]
    masked = home / facts["repo_folder_name"]
    reference = root / folder / "reference"
    shutil.copytree(masked, reference)
    shutil.copyfile(home / info["golden_file"], reference / info["goal_file"])
    return UpstreamTask(
        goal=Goal(folder, info["goal_file"], info["goal_function"], info["class_name"]),
        repository=masked,
        grading=root / folder,
        repository_name=facts["repo_folder_name"],
        unit_test_file=info["unit_test_file"],
        environment=environment,
        wall_seconds=60.0,
        memory_bytes=1024 * 1024 * 1024,
    )


def answer_tree(task: UpstreamTask, root: Path, goal_file: str) -> Path:
    """The masked repository with ``goal_file`` as the text of its goal file, below ``root``."""
    tree = root / "answer"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(task.repository, tree)
    (tree / task.goal.file).write_text(goal_file)
    return tree


def golden_text(task: UpstreamTask) -> str:
    """The text of the golden goal file."""
    return (task.reference_repository / task.goal.file).read_text()


def masked_text(task: UpstreamTask) -> str:
    """The text of the masked goal file."""
    return (task.repository / task.goal.file).read_text()


def passes_upstream(task: UpstreamTask, tree: Path, root: Path, *, packages: str = "") -> bool:
    """Upstream's rule, applied here without any box: the log has "Passed" and no "Failed". For honest answers only."""
    place = root / "upstream"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(tree, place)
    path = os.pathsep.join(part for part in (str(place), packages) if part)
    subprocess.run(
        [sys.executable, "-B", task.unit_test_file],
        cwd=place,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        timeout=120,
        check=False,
    )
    log = place / Path(task.unit_test_file).parent / "logs" / f"{Path(task.unit_test_file).stem}.log"
    text = log.read_text() if log.exists() else ""
    return "Passed" in text and "Failed" not in text
