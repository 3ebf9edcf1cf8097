"""Starts programs in order, restarts the ones that die, and stops all of them in the opposite order."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from leaderboard.supervision import processes
from leaderboard.supervision.errors import SupervisionError
from leaderboard.supervision.logs import last_error, last_lines, open_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leaderboard.supervision.programs import Program

TICK_SECONDS = 0.1
READY_SECONDS = 60.0
LONGEST_BACKOFF_SECONDS = 30.0
STEADY_SECONDS = 60.0
# So many ends in a row are no accident; said then, and again after each further REMINDER_FAILURES.
PERSISTENT_FAILURES = 3
REMINDER_FAILURES = 10


class _Child:
    """One program, the process it runs in now, and how its earlier ones went."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.restart_at = 0.0
        self.failures = 0
        self.log_start = 0

    def start(self, folder: Path) -> None:
        with open_log(folder, self.program.name) as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                self.program.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A session of its own: Ctrl-C must reach the supervisor alone, which knows the right order.
                start_new_session=True,
                preexec_fn=partial(processes.end_with_parent, os.getpid()),
            )
        self.started = time.monotonic()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        if self.process is not None and self.running:
            self.process.send_signal(number)

    def kill_everything(self) -> None:
        """Kill the process and what it left behind in its session."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            processes.end_session(self.process.pid)

    def describe_end(self) -> str:
        code = self.process.returncode if self.process is not None else 0
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class Supervisor:
    """Runs ``programs`` until SIGINT, SIGTERM or SIGHUP. ``say`` gets lines for the person who watches."""

    def __init__(self, programs: list[Program], *, log_folder: Path, say: Callable[[str], object]) -> None:
        self._children = [_Child(program) for program in sorted(programs, key=attrgetter("stage"))]
        self._log_folder = log_folder
        self._say = say
        self._requests = 0

    def run(self, *, on_ready: Callable[[], None]) -> None:
        """Start everything, call ``on_ready``, watch, and return when all is stopped.

        Raises :class:`SupervisionError` when a program ends or stays silent before it is ready; all others are
        stopped by then. A second signal while stopping kills everything at once.
        """
        processes.adopt_orphans()
        before = {number: signal.signal(number, self._request_stop) for number in _STOP_SIGNALS}
        try:
            self._start_all()
            if not self._requests:
                on_ready()
            self._watch()
        finally:
            self._stop_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _request_stop(self, _number: int, _frame: Any) -> None:
        self._requests += 1

    def _start_all(self) -> None:
        for _, stage in groupby(self._children, key=lambda child: child.program.stage):
            if self._requests:
                return
            children = list(stage)
            for child in children:
                child.start(self._log_folder)
            for child in children:
                self._await_ready(child)

    def _await_ready(self, child: _Child) -> None:
        program = child.program
        deadline = time.monotonic() + READY_SECONDS
        while program.ready is not None and not self._requests and not program.ready():
            if not child.running or time.monotonic() > deadline:
                problem = (
                    child.describe_end() if not child.running else f"did not answer in {READY_SECONDS:.0f} seconds"
                )
                msg = (
                    f"{program.name} {problem} before it was ready. The end of its log "
                    f"({self._log_folder / program.name}.log):\n{last_lines(self._log_folder, program.name)}"
                )
                raise SupervisionError(msg)
            time.sleep(TICK_SECONDS)

    def _watch(self) -> None:
        while not self._requests:
            for child in self._children:
                self._keep_alive(child)
            processes.reap_adopted({child.process.pid for child in self._children if child.process})
            time.sleep(TICK_SECONDS)

    def _keep_alive(self, child: _Child) -> None:
        now = time.monotonic()
        if child.running:
            if child.failures and now - child.started > STEADY_SECONDS:
                if child.failures >= PERSISTENT_FAILURES:
                    self._say(f"{child.program.name} runs again.")
                child.failures = 0
            return
        if not child.restart_at:
            # What it left running (a work-horse, a box) would compete with its successor.
            child.kill_everything()
            lasted = now - child.started
            child.failures += 1
            wait = min(LONGEST_BACKOFF_SECONDS, 2.0 ** (child.failures - 1))
            child.restart_at = now + wait
            self._tell_end(child, lasted=lasted, wait=wait)
        elif now >= child.restart_at:
            child.restart_at = 0.0
            child.start(self._log_folder)

    def _tell_end(self, child: _Child, *, lasted: float, wait: float) -> None:
        name, log = child.program.name, f"{self._log_folder / child.program.name}.log"
        if child.failures < PERSISTENT_FAILURES:
            self._say(
                f"{name} {child.describe_end()} after {lasted:.0f} s and starts again in {wait:.0f} s (see {log})."
            )
        elif (child.failures - PERSISTENT_FAILURES) % REMINDER_FAILURES == 0:
            error = last_error(self._log_folder, name, since=child.log_start) or child.describe_end()
            line = f"{name} keeps failing, {child.failures} times in a row now: {error} (its log: {log})"
            self._say(f"{line} {self._loss(child)}".rstrip())

    def _loss(self, child: _Child) -> str:
        """What is lost while ``child`` and all that could stand in for it keep failing; empty when some do not."""
        peers = [peer for peer in self._children if peer.program.loss == child.program.loss]
        return child.program.loss if all(peer.failures >= PERSISTENT_FAILURES for peer in peers) else ""

    def _announce_stop(self) -> None:
        patience = [child.program.grace_seconds / 2 for child in self._children if child.program.terminate_twice]
        self._say(f"Stopping; running tests get up to {max(patience):.0f} seconds…" if patience else "Stopping…")

    def _stop_all(self) -> None:
        requests = self._requests
        if requests:
            self._announce_stop()
        for _, stage in groupby(reversed(self._children), key=lambda child: child.program.stage):
            children = [child for child in stage if child.process is not None]
            self._terminate(children, requests)
            for child in children:
                child.kill_everything()
        # Collect the dead first, so that only what still lived is counted.
        processes.reap_adopted(set())
        left = processes.kill_all_descendants()
        if left:
            self._say(f"Ended {left} more process{'es' if left > 1 else ''} that had been left behind.")

    def _terminate(self, children: list[_Child], requests_before: int) -> None:
        """Ask, ask again where that helps, and return when all have ended, time is up, or a second Ctrl-C came."""
        started = time.monotonic()
        asked_again: set[str] = set()
        for child in children:
            child.signal(signal.SIGTERM)
        while self._requests <= max(requests_before, 1):
            waiting = [child for child in children if child.running]
            elapsed = time.monotonic() - started
            if all(elapsed > child.program.grace_seconds for child in waiting):
                break
            for child in waiting:
                program = child.program
                if program.terminate_twice and program.name not in asked_again and elapsed > program.grace_seconds / 2:
                    asked_again.add(program.name)
                    child.signal(signal.SIGTERM)
            time.sleep(TICK_SECONDS)
        for child in children:
            if child.running:
                self._say(f"{child.program.name} did not stop in time and is killed.")


_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
