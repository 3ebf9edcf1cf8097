"""The driver on its own: its messages, their order, and what the repository can see."""

from __future__ import annotations

import ast
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.generation import agent_box
from evaluator.testing import box, upstream_boxes
from evaluator.testing.box import driver, frames

SOURCES = Path(box.__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A box's folder with an empty repository and a probe that echoes its case."""
    for name in ("driver.py", "frames.py", "probe_tools.py"):
        (tmp_path / name).write_bytes((SOURCES / name).read_bytes())
    (tmp_path / "repository").mkdir()
    (tmp_path / "run.py").write_text("def run(case):\n    return case\n")
    return tmp_path


def start(folder: Path, mode: str, stdin: bytes = b"") -> tuple[list[Any], subprocess.CompletedProcess[bytes]]:
    command = [sys.executable, "-I", "-B", str(folder / "driver.py"), mode, "n0nce"]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False, env={})
    whole, rest = frames.split(done.stdout)
    assert rest == b""
    return [frames.decode(frame) for frame in whole], done


def candidate(folder: Path, *cases: Any) -> list[Any]:
    stdin = b"".join(frames.encode({"case": number, "input": case}) for number, case in enumerate(cases))
    messages, done = start(folder, "candidate", stdin)
    assert done.returncode == 0
    return messages[1:]


def test_hello_describes_what_the_box_computes_with(folder: Path) -> None:
    (hello,), done = start(folder, "hello")
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(hello) == ["blas", "cpu_family", "kind", "nonce", "numpy", "python"]
    assert (hello["kind"], hello["nonce"]) == ("hello", "n0nce")
    assert (hello["python"], hello["numpy"]) == (platform.python_version(), np.__version__)
    assert hello["cpu_family"].startswith(f"{platform.machine()}-{hello['blas']}-")
    assert hello["blas"] != "unknown"


def test_hello_leaves_before_the_repository_is_reachable(folder: Path) -> None:
    (folder / "repository" / "json.py").write_text("raise SystemError\n")
    (folder / "run.py").write_text("import os\nos._exit(7)\n")
    messages, done = start(folder, "candidate", frames.encode({"case": 0, "input": {}}))
    assert [message["kind"] for message in messages] == ["hello"]
    assert done.returncode == 7


def test_repository_comes_first_and_nothing_else_of_the_box_is_importable(folder: Path) -> None:
    (folder / "repository" / "calendar.py").write_text("NAME = 'of the repository'\n")
    (folder / "run.py").write_text(
        "import os, sys, calendar\n\n\ndef run(case):\n"
        "    return {'name': calendar.NAME, 'first': os.path.basename(sys.path[0]), 'cwd': os.getcwd(),\n"
        "            'box': os.path.dirname(__file__) in sys.path, 'bytecode': sys.dont_write_bytecode,\n"
        "            'argv': sys.argv}\n"
    )
    (answer,) = candidate(folder, {})
    assert answer["output"] == {
        "name": "of the repository",
        "first": "repository",
        "cwd": "/tmp",
        "box": False,
        "bytecode": True,
        "argv": ["run.py"],
    }


def test_prints_go_to_the_log_even_from_child_processes(folder: Path) -> None:
    (folder / "run.py").write_text(
        "import os, subprocess, sys\n\n\ndef run(case):\n    print('one')\n    os.write(1, b'two\\n')\n"
        "    subprocess.run([sys.executable, '-c', 'print(3)'], check=True)\n    return {}\n"
    )
    messages, done = start(folder, "candidate", frames.encode({"case": 0, "input": {}}))
    assert [message["kind"] for message in messages] == ["hello", "output"]
    assert done.stderr == b"one\ntwo\n3\n"


def test_an_error_shows_the_repositorys_lines_only(folder: Path) -> None:
    (folder / "repository" / "goal.py").write_text("def deep(n):\n    return deep(n - 1) if n else 1 / 0\n")
    (folder / "run.py").write_text("from goal import deep\n\n\ndef run(case):\n    return deep(case['n'])\n")
    short, long = candidate(folder, {"n": 1}, {"n": 50})
    assert short == {
        "kind": "output",
        "case": 0,
        "status": "raised",
        "error": {
            "type": "ZeroDivisionError",
            "message": "division by zero",
            "traceback": ["goal.py:2 in deep: return deep(n - 1) if n else 1 / 0"] * 2,
        },
    }
    assert len(long["error"]["traceback"]) == 8


def test_cases_that_share_an_input_do_not_share_its_mutation(folder: Path) -> None:
    (folder / "run.py").write_text("def run(case):\n    case['a'] += 1\n    case['l'].append(1)\n    return case\n")
    shared = {"a": np.zeros(1), "l": []}
    answers = candidate(folder, shared, shared)
    assert [(answer["output"]["a"].tolist(), answer["output"]["l"]) for answer in answers] == [([1.0], [1])] * 2


INTEL = """processor\t: 0
vendor_id\t: GenuineIntel
model\t\t: 85
flags\t\t: fpu avx2 avx
cpu MHz\t\t: 2000.1

processor\t: 1
"""


def test_fingerprint_ignores_what_does_not_choose_kernels() -> None:
    same = INTEL.replace("2000.1", "3100.7").replace("fpu avx2 avx", "avx fpu avx2").partition("\n\n")[0]
    assert driver.cpu_fingerprint(INTEL) == driver.cpu_fingerprint(same)
    assert driver.cpu_fingerprint(INTEL) != driver.cpu_fingerprint(INTEL.replace("avx2", "avx512f"))
    assert driver.cpu_fingerprint(INTEL) != driver.cpu_fingerprint(INTEL.replace("85", "86"))
    assert len(driver.cpu_fingerprint("")) == 16


@pytest.mark.parametrize(
    ("names", "version"),
    [
        (("driver.py", "frames.py", "probe_tools.py"), (3, 9)),
        (upstream_boxes._DRIVER, (3, 8)),
        (agent_box._DRIVER, (3, 8)),
    ],
)
def test_programs_in_boxes_are_old_python_and_import_nothing_else(
    names: tuple[str, ...], version: tuple[int, int]
) -> None:
    for name in names:
        tree = ast.parse((SOURCES / name).read_text(), feature_version=version)
        if version == (3, 9):
            found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            assert {name.partition(".")[0] for name in found} <= {"numpy", *sys.stdlib_module_names}
