"""Keeps programs running, as a supervisor does, while somebody kills them; knows them and what they started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.evaluator.processes import descendants, is_running

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAUSE_SECONDS = 0.5


class Keeper:
    """Starts ``programs`` (name to argument list) and starts each again whenever it has ended.

    What a dead program left running (a work-horse) goes on: the next worker must do well beside it.
    """

    def __init__(
        self, programs: Mapping[str, Sequence[str]], *, environment: Mapping[str, str], folder: Path, logs: Path
    ) -> None:
        self._programs = programs
        self._environment = dict(environment)
        self._folder = folder
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self.starts = 0

    def __enter__(self) -> Keeper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                below = descendants(process.pid)
                process.kill()
                process.wait()
                for pid in below:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def workers(self) -> list[int]:
        """The process ids of the workers that run now."""
        return [
            process.pid
            for name, process in self._running.items()
            if name.startswith("worker") and process.poll() is None
        ]

    def _keep(self) -> None:
        while not self._stop.is_set():
            for name, arguments in self._programs.items():
                process = self._running.get(name)
                if process is None or process.poll() is not None:
                    self._running[name] = self._start(name, arguments)
                    self.starts += 1
            self._stop.wait(PAUSE_SECONDS)

    def _start(self, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self._logs / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                arguments, cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )


def kill(pids: Sequence[int]) -> None:
    """SIGKILL each that still runs."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def strays(data_dir: Path) -> list[str]:
    """The command lines of all processes that work on this data folder, by their environment or their arguments."""
    mark, found = str(data_dir).encode(), []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid() and is_running(int(folder.name)):
            with suppress(OSError):
                line = (folder / "cmdline").read_bytes()
                if mark in line or b"DATA_DIR=" + mark + b"\0" in (folder / "environ").read_bytes():
                    found.append(f"{folder.name}: {line.replace(bytes(1), b' ').decode(errors='replace')}")
    return found
