"""Start programs in order, restart those that die, and stop all in reverse order. Linux only.

Not honcho or supervisord: neither waits for a program to be ready before it starts the next, nor kills processes that a
killed program leaves running (a job's process, a box).
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from functools import partial
from itertools import groupby
from logging.handlers import RotatingFileHandler
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaderboard.supervision import SupervisionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leaderboard.supervision.programs import Program

TICK_SECONDS = 0.1
READY_SECONDS = 60.0
LONGEST_BACKOFF_SECONDS = 30.0
STEADY_SECONDS = 60.0
# After this many failures in a row, a program is reported as failing, and again after every REMINDER_FAILURES more.
PERSISTENT_FAILURES = 3
REMINDER_FAILURES = 10

LARGEST_LOG = 5 * 1024 * 1024
LOGS_KEPT = 3
TAIL_BYTES = 16 * 1024
TAIL_LINES = 15

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ERROR = re.compile(r"\b\w*(Error|Exception)\b")
_libc = ctypes.CDLL(None, use_errno=True)


class _Child:
    """One program, its current process, and the record of its failures."""

    def __init__(self, program: Program, log_folder: Path | None) -> None:
        self.program = program
        self.log = log_folder / f"{program.name}.log" if log_folder else None
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.restart_at = 0.0
        self.failures = 0
        self.log_start = 0

    def start(self) -> None:
        with ExitStack() as stack:
            log = None
            if self.log:
                rotate(self.log)
                log = stack.enter_context(self.log.open("ab"))
                self.log_start = log.tell()
            self.process = subprocess.Popen(
                self.program.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A separate session: Ctrl-C must reach only the supervisor, which stops programs in order.
                start_new_session=True,
                preexec_fn=partial(_begin, os.getpid(), self.program.nice),
            )
        self.started = time.monotonic()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def terminate(self) -> None:
        if self.process is not None and self.running:
            self.process.terminate()

    def describe_end(self) -> str:
        code = self.process.returncode if self.process is not None else 0
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def where(self, words: str) -> str:
        """Return ``words`` and the log's file in parentheses; empty if the log is on the console."""
        return f" ({words} {self.log})" if self.log else ""

    def last_error(self) -> str:
        """Return the last log line of this process that names an error, else the last line, else how it ended."""
        log = tail(self.log, since=self.log_start) if self.log else []
        lines = [line.strip() for line in reversed(log) if line.strip()]
        return next((line for line in lines if _ERROR.search(line)), lines[0] if lines else self.describe_end())


class Supervisor:
    """Run ``programs`` until SIGINT, SIGTERM or SIGHUP. ``report`` receives lines for the operator.

    Without a ``log_folder``, the programs write to this process's own output.
    """

    def __init__(
        self, programs: list[Program], *, log_folder: Path | None, report: Callable[[str], object], log_days: int = 0
    ) -> None:
        self._logs = log_folder
        self._log_days = log_days
        self._day = ""
        self._children = [_Child(program, log_folder) for program in sorted(programs, key=attrgetter("stage"))]
        self._report = report
        self._requests = 0

    def run(self, *, on_ready: Callable[[], None]) -> None:
        """Start everything, call ``on_ready``, watch, and return when everything is stopped.

        Raises :class:`SupervisionError` if a program ends or does not answer before it is ready, after stopping all
        others. A second signal while stopping kills everything at once.
        """
        # Adopt the children of dead children, so that none is lost to init.
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        before = {number: signal.signal(number, self._request_stop) for number in _STOP_SIGNALS}
        try:
            self._start_all()
            if not self._requests:
                on_ready()
            while not self._requests:
                for child in self._children:
                    self._keep_alive(child)
                self._remove_old_logs()
                time.sleep(TICK_SECONDS)
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
                child.start()
            for child in children:
                self._await_ready(child)

    def _await_ready(self, child: _Child) -> None:
        program, deadline = child.program, time.monotonic() + READY_SECONDS
        while program.ready is not None and not self._requests and not program.ready():
            if not child.running or time.monotonic() > deadline:
                silent = f"did not answer in {READY_SECONDS:.0f} seconds"
                problem = silent if child.running else child.describe_end()
                msg = f"{program.name} {problem} before it was ready."
                if child.log:
                    end = "\n".join(f"    {line}" for line in tail(child.log)[-TAIL_LINES:])
                    msg += f" The end of its log ({child.log}):\n{end}"
                raise SupervisionError(msg)
            time.sleep(TICK_SECONDS)

    def _keep_alive(self, child: _Child) -> None:
        now = time.monotonic()
        if child.running:
            if child.failures and now - child.started > STEADY_SECONDS:
                if child.failures >= PERSISTENT_FAILURES:
                    self._report(f"{child.program.name} runs again.")
                child.failures = 0
        elif not child.restart_at:
            # Processes it left running (a job's process, a box) would compete with its successor.
            self._kill_strays()
            child.failures += 1
            wait = min(LONGEST_BACKOFF_SECONDS, 2.0 ** (child.failures - 1))
            child.restart_at = now + wait
            self._report_end(child, lasted=now - child.started, wait=wait)
        elif now >= child.restart_at:
            child.restart_at = 0.0
            child.start()

    def _remove_old_logs(self) -> None:
        """Once a day, if logs have a limit, move them aside and remove the older ones."""
        today = time.strftime("%Y-%m-%d", time.gmtime())
        if self._logs and self._log_days and today != self._day:
            with suppress(OSError):  # a full disk must not stop the instance; tomorrow it is tried again
                keep_logs(self._logs, days=self._log_days, today=today)
            for child in self._children:
                child.log_start = 0
            self._day = today

    def _report_end(self, child: _Child, *, lasted: float, wait: float) -> None:
        name = child.program.name
        if child.failures < PERSISTENT_FAILURES:
            end = f"{child.describe_end()} after {lasted:.0f} s"
            self._report(f"{name} {end} and starts again in {wait:.0f} s{child.where('see')}.")
        elif (child.failures - PERSISTENT_FAILURES) % REMINDER_FAILURES == 0:
            line = f"{name} keeps failing, {child.failures} times in a row now: {child.last_error()}"
            # Report the loss only if no other program with the same function keeps running.
            peers = [peer for peer in self._children if peer.program.loss == child.program.loss]
            lost = child.program.loss if all(peer.failures >= PERSISTENT_FAILURES for peer in peers) else ""
            self._report(f"{line}{child.where('its log:')} {lost}".rstrip())

    def _stop_all(self) -> None:
        requests = self._requests
        if requests:
            longest = max((child.program.grace_seconds for child in self._children), default=0)
            self._report(f"Stopping; current work has up to {longest / 2:g} seconds to finish…")
        for _, stage in groupby(reversed(self._children), key=lambda child: child.program.stage):
            self._stop([child for child in stage if child.process is not None], requests)
        if left := self._kill_strays():
            self._report(f"Killed {left} process{'es' if left > 1 else ''} left behind.")

    def _stop(self, children: list[_Child], requests_before: int) -> None:
        """Send SIGTERM, again after half of the grace, and SIGKILL at its end or at a second Ctrl-C.

        The first lets a worker finish its current run; the second makes it return the run for another worker.
        """
        started = time.monotonic()
        sent = dict.fromkeys(children, 0)
        while self._requests <= max(requests_before, 1):
            waiting = [child for child in children if child.running]
            elapsed = time.monotonic() - started
            if all(elapsed > child.program.grace_seconds for child in waiting):
                break
            for child in waiting:
                if sent[child] == 0 or (sent[child] == 1 and elapsed > child.program.grace_seconds / 2):
                    sent[child] += 1
                    child.terminate()
            time.sleep(TICK_SECONDS)
        for child in children:
            if child.process is not None and child.running:
                self._report(f"{child.program.name} did not stop in time and is killed.")
                child.process.kill()
                child.process.wait()

    def _kill_strays(self) -> int:
        """Kill the processes that ended programs left running; return their number."""
        own = {child.process.pid for child in self._children if child.process and child.running}
        count = 0
        # Killing a process makes this one adopt its children, so repeat until there are none.
        while strays := set(children_of(os.getpid())) - own:
            for pid in strays:
                with suppress(ChildProcessError):
                    if os.waitpid(pid, os.WNOHANG) == (0, 0):
                        os.kill(pid, signal.SIGKILL)
                        os.waitpid(pid, 0)
                        count += 1
        return count


def rotate(log: Path, *, largest: int = LARGEST_LOG) -> None:
    """Create the folder; move a log of ``largest`` bytes or more to ``.1``, ``.1`` to ``.2``, up to ``LOGS_KEPT``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size >= largest:
        handler = RotatingFileHandler(log, backupCount=LOGS_KEPT, delay=True)
        handler.doRollover()
        handler.close()


def keep_logs(folder: Path, *, days: int, today: str) -> None:
    """Copy the logs of running programs to ``NAME.log.DATE`` and empty them; remove copies of more than ``days`` ago.

    Programs append, so they go on at the new beginning. A line that is written between copy and emptying is lost.
    """
    for log in folder.glob("*.log"):
        copy = log.with_name(f"{log.name}.{today}")
        if log.stat().st_size and not copy.exists():
            shutil.copy2(log, copy)
            os.truncate(log, 0)
    limit = time.time() - days * 24 * 3600
    for copy in folder.glob("*.log.*"):
        if copy.stat().st_mtime < limit:
            copy.unlink()


def tail(log: Path, *, since: int = 0) -> list[str]:
    """Return the last lines of a log (up to ``TAIL_BYTES``) that were written after byte ``since``."""
    with log.open("rb") as handle:
        handle.seek(max(since, handle.seek(0, os.SEEK_END) - TAIL_BYTES))
        return handle.read().decode("utf-8", errors="replace").splitlines()


def children_of(parent: int) -> list[int]:
    """Return the ids of a process's children."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The command's name is in parentheses and may itself contain blanks and parentheses.
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def _begin(parent: int, nice: int) -> None:
    """Give way by ``nice``, and make the kernel send SIGTERM to this new child when ``parent`` dies.

    Runs before the program is executed.
    """
    os.nice(nice)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
