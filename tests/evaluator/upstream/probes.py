"""Run shipped overlays' probes on made-up goal files: the repositories that they are written for are not shipped."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmark_tasks.domain.overlays import OVERLAYS_FOLDER
from evaluator.testing import box
from evaluator.testing.box import frames

SHIPPED = OVERLAYS_FOLDER / "lmr-bench"
_BOX = Path(box.__file__).parent


def cases_of(probe: str, seed: int = 1) -> list[Any]:
    """The cases of ``16-KnowProb/3``, as the driver sends them."""
    folder, index = probe.split("/")
    spec = importlib.util.spec_from_file_location("cases", SHIPPED / folder / f"cases_{index}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [frames.decode(frames.encode(case)) for case in module.cases(seed)]


def answers(
    probe: str, files: dict[str, str], folder: Path, *, cases: list[Any], packages: Path | None = None
) -> list[Any]:
    """The driver's message for each of the cases, with a repository of ``files``; ``packages`` can be imported."""
    folder.mkdir()
    for name in ("driver.py", "frames.py", "probe_tools.py"):
        (folder / name).write_bytes((_BOX / name).read_bytes())
    paper, index = probe.split("/")
    (folder / "run.py").write_bytes((SHIPPED / paper / f"run_{index}.py").read_bytes())
    for name, text in files.items():
        path = folder / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    stdin = b"".join(frames.encode({"case": number, "input": case}) for number, case in enumerate(cases))
    command = [sys.executable, "-B", str(folder / "driver.py"), "candidate", "n0nce"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages or "")}
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=True, env=environment)
    return [frames.decode(line) for line in frames.split(done.stdout)[0]][1:]


def outputs(messages: list[Any]) -> list[Any]:
    """The outputs of all cases; each must have one."""
    assert [message["status"] for message in messages] == ["ok"] * len(messages), messages[0]
    return [message["output"] for message in messages]


def error(messages: list[Any]) -> str:
    """Type and message of the error that every case ended with."""
    found = {f"{message['error']['type']}: {message['error']['message']}" for message in messages}
    assert len(found) == 1
    return found.pop()
