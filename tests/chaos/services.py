"""Private PostgreSQL, Redis and Docker services, which may be killed at any moment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from leaderboard.supervision import embedded_redis
from tests.evaluator.processes import is_running, kill, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_SECONDS = 60
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class ServiceMissingError(Exception):
    """This machine cannot run the service; the text names what is missing."""


class Service(Protocol):
    """A server that can be killed, and started again with what it kept on disk."""

    name: str

    def start(self) -> None:
        """Start it and wait until it answers."""

    def kill(self, number: signal.Signals) -> None:
        """Send its main process this signal and wait for its end."""


def processes_naming(text: str) -> list[int]:
    """The processes with this text in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):
                if text.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
    return found


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, **QUIET, check=False, timeout=20).returncode == 0  # type: ignore[call-overload, no-any-return]


class Redis:
    """Stores nothing on disk: all its data is lost when it is killed."""

    name = "redis"

    def __init__(self, folder: Path, *, address: str = "", within: Sequence[str] = ()) -> None:
        """``address``: listen there by TCP instead of on a Unix socket. ``within`` precedes the command line."""
        self._socket = folder / "redis.sock"
        self._address, self._within = address, within
        self.url = f"redis://{address}:6379/0" if address else f"unix://{self._socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """See :class:`Service`."""
        self._socket.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [
                *(*self._within, embedded_redis.server_binary()),
                *("--unixsocket", str(self._socket), "--save", "", "--appendonly", "no"),
                *(("--bind", self._address, "--protected-mode", "no") if self._address else ("--port", "0")),
            ],
            **QUIET,  # type: ignore[call-overload]
        )
        wait_until(lambda: embedded_redis.answers(f"unix://{self._socket}"), "Redis to answer")

    def kill(self, number: signal.Signals) -> None:
        """See :class:`Service`."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()


class Postgres:
    """A cluster on a Unix socket, as the user ``postgres`` where root runs the tests."""

    name = "postgresql"

    def __init__(self, folder: Path, *, address: str = "", within: Sequence[str] = ()) -> None:
        """``address``: listen there by TCP, too, and trust its network. ``within`` precedes the command line."""
        self._folder = folder / "postgresql"
        self._address, self._within = address, within
        self._programs = _postgres_programs()
        self._as_user: Sequence[str] = ()
        new = not (self._folder / "data" / "PG_VERSION").exists()
        self._folder.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres")
            self._as_user = ("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups")
        if new:
            self._run("initdb", "--username", "tests", "--auth", "trust", "--encoding", "UTF8", "--no-sync")
        if address:
            with (self._folder / "data" / "pg_hba.conf").open("a", encoding="ascii") as rules:
                rules.write("host all all samenet trust\n")
        place = address or str(self._folder).replace("/", "%2F")
        self.url = f"postgres://tests@{place}/postgres"
        self.dsn = f"host={self._folder} user=tests dbname=postgres"

    def _run(self, program: str, *arguments: str) -> None:
        command = [
            *self._within,
            *self._as_user,
            str(self._programs / program),
            "--pgdata",
            str(self._folder / "data"),
            *arguments,
        ]
        subprocess.run(command, **QUIET, cwd=self._folder, check=True, timeout=PATIENCE_SECONDS)  # type: ignore[call-overload]

    def start(self) -> None:
        """See :class:`Service`. A killed cluster first recovers what was committed."""
        options = (
            f"-c listen_addresses='{self._address}' -c unix_socket_directories='{self._folder}' -c max_connections=60"
        )
        self._run("pg_ctl", "start", "--wait", "--silent", "--log", str(self._folder / "log"), "--options", options)

    def kill(self, number: signal.Signals) -> None:
        """See :class:`Service`. SIGQUIT is PostgreSQL's immediate shutdown, without a checkpoint."""
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


class Docker:
    """A second engine beside the machine's own, with one of its images. It makes no network.

    Close it at the end: containers of a killed engine keep mounts in its folder.
    """

    name = "docker"

    def __init__(self, folder: Path, *, image: str) -> None:
        if os.geteuid() != 0 or shutil.which("dockerd") is None:
            raise ServiceMissingError("only root can start a Docker engine, and dockerd must be there")
        if not _succeeds("docker", "image", "inspect", image):
            raise ServiceMissingError(f"no image {image} here (make test builds it)")
        self._folder = folder / "docker"
        self._folder.mkdir()
        # The path of a socket must be short.
        self._socket = folder / "d.sock"
        self.url = f"unix://{self._socket}"
        self._image = image
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """See :class:`Service`. The first start copies the image."""
        self._forget_dead_containerd()
        arguments = [
            *("--host", self.url, "--data-root", str(self._folder / "data"), "--exec-root", str(self._folder / "exec")),
            *("--pidfile", str(self._folder / "pid"), "--bridge", "none", "--iptables=false", "--ip-forward=false"),
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["dockerd", *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(lambda: _succeeds("docker", "--host", self.url, "version"), "the Docker engine to answer")
        if not _succeeds("docker", "--host", self.url, "image", "inspect", self._image):
            self._copy_image()

    def _forget_dead_containerd(self) -> None:
        """containerd dies with its engine; if init does not reap orphans, the next one would wait for a zombie."""
        file = self._folder / "exec" / "containerd" / "containerd.pid"
        if file.exists() and not is_running(int(file.read_text())):
            file.unlink()

    def _copy_image(self) -> None:
        with subprocess.Popen(["docker", "save", self._image], stdout=subprocess.PIPE) as saving:
            loading = ["docker", "--host", self.url, "load", "--quiet"]
            subprocess.run(
                loading, stdin=saving.stdout, stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE_SECONDS
            )

    def kill(self, number: signal.Signals) -> None:
        """See :class:`Service`. SIGKILL leaves the containers running, and containerd with them."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=PATIENCE_SECONDS)
            # A killed engine's PID file would keep the next one from starting if another process has the number.
            (self._folder / "pid").unlink(missing_ok=True)

    def close(self) -> None:
        """Stop it, kill what it left running, and unmount its folder."""
        self.kill(signal.SIGTERM)
        kill(processes_naming(str(self._folder)))
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for place in reversed([place for place in mounts if place.startswith(str(self._folder))]):
            subprocess.run(["umount", "--lazy", place], **QUIET, check=False, timeout=20)  # type: ignore[call-overload]

    def log_end(self) -> str:
        """The last lines of its log."""
        return "\n".join((self._folder / "log").read_text(errors="replace").splitlines()[-25:])

    def containers(self) -> list[str]:
        """The names and states of all containers, running or not."""
        listed = subprocess.run(
            ["docker", "--host", self.url, "ps", "--all", "--format", "{{.Names}} {{.Status}}"],
            capture_output=True, check=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        return listed.stdout.decode().splitlines()
