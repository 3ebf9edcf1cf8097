"""A complete private instance (database, queue, perhaps Docker; reconciler and workers), and queries of its tables."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGKILL, SIGQUIT
from typing import TYPE_CHECKING, Any

import psycopg

from tests.chaos.services import Docker, Postgres, Redis
from tests.conftest import PROJECT_ROOT
from tests.evaluator.processes import descendants, is_running, kill
from tests.instances import Instance as WholeInstance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORKERS = 3
SWEEP_SECONDS = 2
PAUSE_SECONDS = 0.5
LEASE_SECONDS = 5
IMAGE = "lmr-board-box-numpy"
STANDSTILL_SECONDS = 60
LONGEST_SECONDS = 600
UNFINISHED = """
    SELECT (SELECT count(*) FROM submissions_submission WHERE state <> 'scored')
         + (SELECT count(*) FROM evaluator_testrun WHERE state <> 'done')
"""
HELD = "SELECT count(*) FROM submissions_submission WHERE state = 'held'"
VERDICTS = """
    SELECT implementation.submission_id, implementation.trial, run.state, run.outcome, run.reason, run.cases::text
    FROM evaluator_testrun run JOIN submissions_implementation implementation ON implementation.id = implementation_id
    ORDER BY 1, 2
"""
ACCEPTED = """
    SELECT run.id, count(attempt.id) FILTER (WHERE attempt.state = 'accepted')
    FROM evaluator_testrun run LEFT JOIN evaluator_attempt attempt ON attempt.run_id = run.id
    WHERE run.environment_digest <> '' GROUP BY run.id ORDER BY 1
"""


RETRY = """
from evaluator.generation.generating import retry_held
from submissions.domain.operators import local_operator
from submissions.models import Submission
for submission in Submission.objects.filter(state="held"):
    retry_held(submission=submission, actor=local_operator())
"""
"""Retry held submissions as an operator does. A run is held after faults have killed its worker three times."""


class Keeper:
    """Starts ``programs`` (name to argument list), and restarts each that has ended.

    The children of a dead program, such as a work-horse, keep running: the next worker must tolerate them.
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
                kill(below)

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


class Instance(WholeInstance):
    """Runs in ``folder`` until it is closed. ``sandbox`` is ``bubblewrap`` or ``docker``."""

    def __init__(self, folder: Path, *, sandbox: str) -> None:
        self.postgres = Postgres(folder)
        self.redis = Redis(folder)
        self.docker = Docker(folder, image=IMAGE) if sandbox == "docker" else None
        super().__init__(
            folder,
            DATABASE_URL=self.postgres.url,
            REDIS_URL=self.redis.url,
            SECRET_KEY="s" * 50,
            ENDPOINT_KEYS="e" * 50,
            EVALUATOR_SANDBOX=sandbox,
            DOCKER_HOST=self.docker.url if self.docker else "unix:///nowhere",
            SANDBOX_IMAGE=IMAGE,
            LEASE_SECONDS=str(LEASE_SECONDS),
            INFRA_RETRY_SECONDS="1",
            LOG_LEVEL="INFO",
        )
        self.make_folders()
        self.logs = folder / "logs"
        self.logs.mkdir(mode=0o700)
        self._folder = folder
        self.keeper = Keeper(self._programs(), environment=self.environment, folder=PROJECT_ROOT, logs=self.logs)

    def __enter__(self) -> Instance:
        with ExitStack() as undo:
            undo.callback(self.postgres.kill, SIGQUIT)
            self.postgres.start()
            undo.callback(self.redis.kill, SIGKILL)
            self.redis.start()
            if self.docker:
                undo.callback(self.docker.close)
                self.docker.start()
            self.printed("migrate", "--verbosity", "0")
            self.printed("createcachetable")
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _programs(self) -> Mapping[str, Sequence[str]]:
        manage = (sys.executable, "manage.py")
        workers = {f"worker-{n}": (*manage, "worker", "--name", f"worker-{n}") for n in range(1, WORKERS + 1)}
        return {"reconcile": (*manage, "reconcile", "--every", str(SWEEP_SECONDS)), **workers}

    def prepare(self, submissions: int) -> None:
        """Queue this many submissions (tests.chaos.prepare)."""
        result = self.python("-m", "tests.chaos.prepare", str(self._folder / "suite"), str(submissions))
        assert result.returncode == 0, result.stderr

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """The rows; raises ``psycopg.OperationalError`` while the database is away."""
        with psycopg.connect(self.postgres.dsn, connect_timeout=5) as connection:
            return connection.execute(text).fetchall()

    def unfinished(self) -> int:
        """How many runs and submissions have not ended; -1 while the database is away."""
        try:
            return int(self.query(UNFINISHED)[0][0])
        except psycopg.OperationalError:
            return -1

    def wait_until_scored(self) -> None:
        """Wait until every submission is scored, and retry held ones. Call it when the faults are over.

        Raises ``TimeoutError`` if there is no progress, or after ``LONGEST_SECONDS``.
        """
        left, changed, began = self.unfinished(), time.monotonic(), time.monotonic()
        while left != 0:
            time.sleep(0.2)
            if self.query(HELD) != [(0,)]:
                self.printed("shell", "-c", RETRY)
            now = self.unfinished()
            if now != left:
                left, changed = now, time.monotonic()
            if time.monotonic() - changed > STANDSTILL_SECONDS or time.monotonic() - began > LONGEST_SECONDS:
                raise TimeoutError(f"{left} runs and submissions did not end")

    def verdicts(self) -> dict[int, list[tuple[Any, ...]]]:
        """The verdicts of each submission's trials, in order."""
        found: dict[int, list[tuple[Any, ...]]] = {}
        for submission, *verdict in self.query(VERDICTS):
            found.setdefault(submission, []).append(tuple(verdict))
        return found

    def accepted_attempts(self) -> list[int]:
        """How many accepted attempts each measured run has."""
        return [number for _, number in self.query(ACCEPTED)]

    def log_ends(self) -> str:
        """The last lines of each program's log."""
        ends = ["--- docker", self.docker.log_end()] if self.docker else []
        for log in sorted(self.logs.iterdir()):
            lines = log.read_text(errors="replace").splitlines()[-25:]
            ends.append("\n".join([f"--- {log.name}", *lines]))
        return "\n".join(ends)
