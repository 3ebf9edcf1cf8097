"""A PostgreSQL and a Redis of our own, which may be killed at any moment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from leaderboard.supervision import embedded_redis
from tests.evaluator.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_SECONDS = 60
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class ServiceMissingError(Exception):
    """This machine cannot run the service; the text says what is missing."""


class Service(Protocol):
    """A server that can be killed, and started again with what it kept on disk."""

    def start(self) -> None:
        """Start it and wait until it answers."""

    def kill(self, number: signal.Signals) -> None:
        """Send its main process this signal and wait for its end."""


class Redis:
    """Keeps nothing on disk: whatever it was told is lost when it is killed."""

    def __init__(self, folder: Path) -> None:
        self._socket = folder / "redis.sock"
        self.url = f"unix://{self._socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """See :class:`Service`."""
        self._socket.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [
                embedded_redis.server_binary(),
                *("--port", "0", "--unixsocket", str(self._socket), "--save", "", "--appendonly", "no"),
            ],
            **QUIET,  # type: ignore[call-overload]
        )
        wait_until(lambda: embedded_redis.answers(self.url), "Redis to answer")

    def kill(self, number: signal.Signals) -> None:
        """See :class:`Service`."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()


class Postgres:
    """A cluster on a Unix socket, as the user ``postgres`` where root runs the tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "postgresql"
        self._programs = _postgres_programs()
        self._as_user: Sequence[str] = ()
        self._folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres")
            self._as_user = ("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups")
        self._run("initdb", "--username", "tests", "--auth", "trust", "--encoding", "UTF8", "--no-sync")
        self.url = f"postgres://tests@{str(self._folder).replace('/', '%2F')}/postgres"
        self.dsn = f"host={self._folder} user=tests dbname=postgres"

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as_user, str(self._programs / program), "--pgdata", str(self._folder / "data"), *arguments]
        subprocess.run(command, **QUIET, cwd=self._folder, check=True, timeout=PATIENCE_SECONDS)  # type: ignore[call-overload]

    def start(self) -> None:
        """See :class:`Service`. A killed cluster first recovers what was committed."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}' -c max_connections=60"
        self._run("pg_ctl", "start", "--wait", "--silent", "--log", str(self._folder / "log"), "--options", options)

    def kill(self, number: signal.Signals) -> None:
        """See :class:`Service`. SIGQUIT is PostgreSQL's immediate shutdown: no goodbye, no checkpoint."""
        file = self._folder / "data" / "postmaster.pid"
        if file.exists():
            pid = int(file.read_text().splitlines()[0])
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            wait_until(lambda: not Path(f"/proc/{pid}").exists() or not file.exists(), "PostgreSQL to end")


def _postgres_programs() -> Path:
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not installed:
        raise ServiceMissingError("no PostgreSQL here")
    return installed[-1].parent
