"""A whole instance of our own (database, queue, perhaps Docker; reconciler and workers), and what its tables say."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from signal import SIGKILL, SIGQUIT
from typing import TYPE_CHECKING, Any

import psycopg

from tests.chaos.keeper import Keeper
from tests.chaos.services import Docker, Postgres, Redis
from tests.conftest import PROJECT_ROOT
from tests.instances import Instance as WholeInstance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORKERS = 3
SWEEP_SECONDS = 2
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
from evaluator.queue.results import retry_held
from submissions.domain.operators import local_operator
from submissions.models import Submission
for submission in Submission.objects.filter(state="held"):
    retry_held(submission=submission, actor=local_operator())
"""
"""As an operator does on the maintainers' page: faults may kill the worker of one run three times, which holds it."""


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
            EVALUATOR_SANDBOX=sandbox,
            DOCKER_HOST=self.docker.url if self.docker else "unix:///nowhere",
            SANDBOX_IMAGE=IMAGE,
            LEASE_SECONDS=str(LEASE_SECONDS),
            INFRA_RETRY_SECONDS="1",
            LOG_LEVEL="INFO",
        )
        self.logs = folder / "logs"
        sandboxes = folder / "sandbox"
        for made in (self.data, self.logs, sandboxes):
            made.mkdir(mode=0o700)
        # What is /var/lib/lmr-board of other instances; the boxes' user may pass through it.
        (self.data / "sandbox").symlink_to(sandboxes)
        for passed in (folder, sandboxes):
            passed.chmod(0o711)
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
        """Queue so many submissions (tests.chaos.prepare)."""
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
        """Wait until every submission is scored, and retry what is held. Call it when the faults are over.

        Raises ``TimeoutError`` when nothing moves any more, or for ever.
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
        """Per submission what each trial came to, in their order."""
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
