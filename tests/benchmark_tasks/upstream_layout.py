"""A made-up data set in upstream's layout: all irregularities of its folders, none of its code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.benchmark_tasks.factories import PDF

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1559\n"
STUB: Final = '{indent}raise NotImplementedError("{name}")\n'
SOLVED: Final = "{indent}return sum(arguments)  # solved-{name}\n"

UNIT_TEST: Final = """\
import logging
import os
import unittest
from pathlib import Path

from {module} import {owner}

logs = Path(__file__).resolve().parent / "logs"
logs.mkdir(exist_ok=True)
logging.basicConfig(filename=logs / "{stem}.log", level=logging.INFO)


class TestGoal(unittest.TestCase):
    def test_sum(self):
        # 计算结果是否正确
        result = {call}(1, 2)
        logging.info("Test Passed" if result == 3 else "Test Failed")


if __name__ == "__main__":
    unittest.main()
"""


TASK: Final[dict[str, Any]] = {
    "instruction": "Implement the `total` function.",
    "index": 1,
    "category": "loss function",
    "goal_file": "src/trainers.py",
    "goal_function": "total",
    "class_name": None,
    "golden_file": "golden_files/trainers_golden.py",
    "retrieval_content": [],
    "unit_test_file": "unit_test/unit_test_1.py",
}
PAPER: Final[dict[str, Any]] = {
    "instance_id": "5",
    "folder_name": "Simpo",
    "paper_url": "https://example.org/pdf/1",
    "year": 2024,
    "repo_url": "https://example.org/git",
    "repo_folder_name": "SimPO",
    "implementations": [TASK],
}


def json_info(task: Mapping[str, Any] | None = None, **changes: Any) -> bytes:
    """A good info.json of one task as upstream writes it; ``task`` changes the task."""
    made = {**PAPER, "implementations": [{**TASK, **(task or {})}], **changes}
    return json.dumps(made, ensure_ascii=False).encode()


def write_dataset(root: Path, infos: dict[str, bytes]) -> Path:
    """One paper's folder for each folder name in ``infos`` (the bytes of its info.json), with the usual litter."""
    for folder, data in infos.items():
        write_upstream_paper(root, folder, data)
    (root / ".gitattributes").write_text("*.pt filter=lfs diff=lfs merge=lfs -text\n")
    (root / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    return root


def write_upstream_paper(root: Path, folder: str, data: bytes) -> Path:
    """A paper's folder as upstream lays it out: repository with tests and publication, golden files, Dockerfile."""
    info = json.loads(data.decode("utf-8-sig"))
    paper, repository = root / folder, root / folder / info["repo_folder_name"]
    for task in info["implementations"]:
        if task.get("goal_function"):
            _write_task(paper, repository, task, info["implementations"])
    files: dict[Path, bytes] = {
        paper / "info.json": data,
        paper / "Dockerfile": b"FROM python:3.11-slim\r\nARG UID\r\nARG GID\r\nARG DIR\r\n",
        paper / ".DS_Store": b"\0\0\0\1Bud1",
        repository / "README.md": "# 说明\r\n".encode(),
        repository / "paper.json": b'{"title": "A paper"}',
        repository / "paper.pdf": PDF,
        repository / "__pycache__/main.cpython-310.pyc": b"\xa7\r\r\n",
        repository / ".ipynb_checkpoints/main-checkpoint.py": b"def autosaved(): pass\n",
        repository / "data/archive.zip": b"PK\x05\x06" + bytes(18),
        repository / "data/archive.tar.gz": b"\x1f\x8b\x08\x00",
    }
    for path, content in files.items():
        put(path, content)
    return paper


def put(path: Path, content: bytes | str) -> None:
    """Write a file, and its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _write_task(paper: Path, repository: Path, task: dict[str, Any], all_tasks: list[dict[str, Any]]) -> None:
    """Goal file (every goal of it masked), golden file (every goal solved) and unit test."""
    goals = [other for other in all_tasks if other.get("goal_file") == task["goal_file"]]
    test = repository / task["unit_test_file"]
    owner, call = _address(task)
    module = task["goal_file"].removesuffix(".py").replace("/", ".")
    code = UNIT_TEST.format(module=module, owner=owner, call=call, stem=test.stem)
    masked, solved = _source(goals, STUB), _source(goals, SOLVED)
    if task["goal_file"] == task["unit_test_file"]:
        own = code.replace(f"from {module} import {owner}\n", "")
        masked, solved = f"{masked}\n\n{own}", f"{solved}\n\n{own}"
    else:
        put(test, code)
    put(repository / task["goal_file"], masked.replace("\n", "\r\n"))
    put(paper / task["golden_file"], "\N{BYTE ORDER MARK}" + solved)


def _address(task: dict[str, Any]) -> tuple[str, str]:
    """What a test imports, and how it calls the goal."""
    owner, function = task.get("class_name") or "", task["goal_function"]
    if owner == function:
        return owner, f"{owner}().run"
    return (owner, f"{owner}().{function}") if owner else (function, function)


def _source(goals: list[dict[str, Any]], body: str) -> str:
    parts = ['"""目标文件。"""\n']
    for goal in goals:
        owner, function = goal.get("class_name") or "", goal["goal_function"]
        if owner:
            method = "run" if owner == function else function
            text = f"class {owner}:\n    def {method}(self, *arguments):\n"
        else:
            text = f"def {function}(*arguments):\n"
        parts.append(text + body.format(name=function, indent="        " if owner else "    "))
    return "\n\n".join(parts)
