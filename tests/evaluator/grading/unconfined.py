"""A sandbox that confines nothing: for tests of what is said through a box's walls, with programs that tests wrote."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.box import frames
from evaluator.sandbox.types import BoxResult, BoxSpec, Ending


@dataclass
class UnconfinedSandbox:
    """Copies the mounts into a folder of its own and runs the interpreter there; remembers every box it was given."""

    python: str = sys.executable
    name: str = "unconfined"
    digest: str = "digest"
    ran: list[BoxSpec] = field(default_factory=list)

    def check(self) -> None:
        return

    def environment_digest(self, environment: str) -> str:
        return f"{self.digest}-{environment}"

    def run(self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False) -> BoxResult:
        self.ran.append(spec)
        with tempfile.TemporaryDirectory() as folder:
            for mount in spec.mounts:
                _copy(mount.source, Path(folder) / mount.target.lstrip("/"))
            argv = [part.replace("/box/", f"{folder}/box/") for part in spec.argv[1:]]
            return self._run([self.python, "-I", "-B", *argv], spec)

    def _run(self, command: list[str], spec: BoxSpec) -> BoxResult:
        begin = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        timed_out = False
        try:
            stdout, stderr = process.communicate(spec.stdin, timeout=spec.limits.wall_seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
        return _result(process.returncode, stdout, stderr, spec, time.monotonic() - begin, timed_out=timed_out)

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        return 0

    @property
    def labels(self) -> list[str]:
        return [spec.label for spec in self.ran]


@dataclass
class AlteringSandbox(UnconfinedSandbox):
    """Alters what the boxes whose label ends with ``suffix`` gave."""

    suffix: str = "-public"
    alter: Callable[[BoxResult], BoxResult] = lambda result: result

    def run(self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False) -> BoxResult:
        result = super().run(spec)
        return self.alter(result) if spec.label.endswith(self.suffix) else result


def altered_hello(result: BoxResult, **changed: str) -> BoxResult:
    """The result with other fields in its hello frame."""
    (hello, *others), _ = frames.split(result.stdout)
    message = frames.decode(hello)
    assert isinstance(message, dict)
    return replace(result, stdout=b"".join([frames.encode(message | changed), *others]))


def _result(code: int, stdout: bytes, stderr: bytes, spec: BoxSpec, seconds: float, *, timed_out: bool) -> BoxResult:
    ending = Ending.EXITED if code >= 0 else Ending.SIGNALLED
    if timed_out:
        ending = Ending.WALL_TIMEOUT
    elif len(stdout) > spec.limits.output_bytes:
        ending = Ending.OUTPUT_LIMIT
    return BoxResult(
        ending=ending,
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stdout=stdout[: spec.limits.output_bytes],
        stderr=stderr[: spec.limits.log_bytes],
        stderr_truncated=len(stderr) > spec.limits.log_bytes,
        wall_seconds=seconds,
        peak_memory_bytes=None,
    )


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
