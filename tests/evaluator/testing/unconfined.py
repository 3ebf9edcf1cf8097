"""A sandbox that confines nothing, for tests of a box's messages with programs that tests wrote."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.sandbox.interface import BoxResult, BoxSpec, Dialogue, Ending
from evaluator.sandbox.streams import Capture, Ticker, process_pump
from evaluator.testing.box import frames


@dataclass
class UnconfinedSandbox:
    """Copies the mounts into a folder of its own and runs the interpreter there; records every box."""

    python: str = sys.executable
    name: str = "unconfined"
    digest: str = "digest"
    ran: list[BoxSpec] = field(default_factory=list)

    def check(self) -> None:
        return

    def environment_digest(self, environment: str) -> str:
        return f"{self.digest}-{environment}"

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        self.ran.append(spec)
        with tempfile.TemporaryDirectory() as folder:
            for mount in spec.mounts:
                _copy(mount.source, Path(folder) / mount.target.lstrip("/"))
            argv = [part.replace("/box/", f"{folder}/box/") for part in spec.argv[1:]]
            variables = {"OPENBLAS_NUM_THREADS": "1"} | {
                name: value.replace("/box/", f"{folder}/box/") for name, value in spec.variables
            }
            return _run([self.python, "-I", "-B", *argv], variables, spec, cancelled, dialogue)

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        return 0

    @property
    def labels(self) -> list[str]:
        return [spec.label for spec in self.ran]


@dataclass
class AlteringSandbox(UnconfinedSandbox):
    """Alters the results of the boxes whose label ends with ``suffix``."""

    suffix: str = "-public"
    alter: Callable[[BoxResult], BoxResult] = lambda result: result

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        result = super().run(spec, cancelled=cancelled, dialogue=dialogue)
        return self.alter(result) if spec.label.endswith(self.suffix) else result


def altered_hello(result: BoxResult, **changed: str) -> BoxResult:
    """The result with other fields in its hello frame."""
    (hello, *others), _ = frames.split(result.stdout)
    message = frames.decode(hello)
    assert isinstance(message, dict)
    return replace(result, stdout=b"".join([frames.encode(message | changed), *others]))


def _run(
    command: list[str],
    variables: dict[str, str],
    spec: BoxSpec,
    cancelled: Callable[[], bool],
    dialogue: Dialogue | None,
) -> BoxResult:
    begin = time.monotonic()
    capture = Capture(spec.limits, dialogue)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        start_new_session=True,
    )
    feed = dialogue.feed if dialogue else None
    with process_pump(process, stdin=spec.stdin, capture=capture, feed=feed) as pump:
        try:
            deadline = begin + spec.limits.wall_seconds
            stopped = pump.run(Ticker(probe=lambda: None, cancelled=cancelled, deadline=deadline))
        finally:
            _end(process)
        pump.drain()
    if stopped is None and capture.output_exceeded:
        stopped = Ending.OUTPUT_LIMIT
    return _result(process.returncode, stopped, capture, time.monotonic() - begin)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill it and its children, unless it has ended."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _result(code: int, stopped: Ending | None, capture: Capture, seconds: float) -> BoxResult:
    return BoxResult(
        ending=stopped or (Ending.EXITED if code >= 0 else Ending.SIGNALLED),
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        stdout=bytes(capture.stdout),
        stderr=bytes(capture.stderr),
        stderr_truncated=capture.stderr_truncated,
        wall_seconds=seconds,
        peak_memory_bytes=None,
    )


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
