"""An instance of several hosts: servers, a host with the site, and worker hosts that share no folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGKILL, SIGQUIT, SIGTERM
from typing import TYPE_CHECKING, Any, Final, Self

import psycopg

from tests.bucket import made_bucket, s3_server
from tests.chaos.services import Postgres, Redis
from tests.conftest import PROJECT_ROOT
from tests.evaluator.processes import descendants, kill, wait_until
from tests.instances import Instance

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

LEASE_SECONDS: Final = 6
SCORED: Final = "SELECT count(*) FROM submissions_submission WHERE state <> 'scored'"
ACCEPTED: Final = "SELECT worker FROM evaluator_attempt WHERE state = 'accepted'"
ROLE: Final = "tests_only"
_RANGE: Final = 512
_FIRST_UID: Final = 60928


class Network:
    """Network namespaces: one of the servers, with a bridge, and one of each host, linked to it."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self.prefix = f"lmr{os.getpid()}"
        self.server = "10.77.0.1"
        self._names = ["servers", *hosts]

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            for number, name in enumerate(self._names):
                self._ip("netns", "add", self.space(name))
                undo.callback(self._ip, "netns", "del", self.space(name))
                self._ip("-n", self.space(name), "link", "set", "lo", "up")
                if name == "servers":
                    self._ip("-n", self.space(name), "link", "add", "bridge", "type", "bridge")
                    self._ip("-n", self.space(name), "address", "add", f"{self.server}/24", "dev", "bridge")
                    self._ip("-n", self.space(name), "link", "set", "bridge", "up")
                    continue
                self._ip(
                    *("-n", self.space("servers"), "link", "add", f"to-{number}", "type", "veth"),
                    *("peer", "name", "eth0", "netns", self.space(name)),
                )
                self._ip("-n", self.space("servers"), "link", "set", f"to-{number}", "master", "bridge", "up")
                self._ip("-n", self.space(name), "address", "add", f"10.77.0.{10 + number}/24", "dev", "eth0")
                self.connect(name)
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def space(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def within(self, name: str) -> tuple[str, ...]:
        """What runs a command in the namespace of ``name``; unlike ``ip netns exec`` it leaves the mounts alone."""
        return ("nsenter", f"--net=/run/netns/{self.space(name)}")

    def cut(self, name: str) -> None:
        self._ip("-n", self.space(name), "link", "set", "eth0", "down")

    def connect(self, name: str) -> None:
        self._ip("-n", self.space(name), "link", "set", "eth0", "up")

    @staticmethod
    def _ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Cluster:
    """Servers, the host ``site``, and ``hosts``, which may start and end; with ``network`` each in its namespace.

    Those of ``restricted`` only run tests, without keys, and with the role :data:`ROLE`, which needs its grants.
    """

    def __init__(
        self, folder: Path, hosts: Iterable[str], *, network: Network | None = None, restricted: Collection[str] = ()
    ) -> None:
        self.folder, self.network = folder, network
        server, within = (network.server, network.within("servers")) if network else ("", ())
        self.postgres = Postgres(folder, address=server, within=within)
        self.redis = Redis(folder, address=server, within=within)
        self._storage = s3_server(server or "127.0.0.1", within)
        self._undo = ExitStack()
        self.hosts: dict[str, Instance] = {}
        self._names = ["site", *hosts]
        self._restricted = restricted

    def __enter__(self) -> Self:
        with self._undo:
            self._undo.callback(self.postgres.kill, SIGQUIT)
            self.postgres.start()
            self.query(f"CREATE ROLE {ROLE} LOGIN")
            self._undo.callback(self.redis.kill, SIGKILL)
            self.redis.start()
            self._wheels = _downloaded_wheels(self.folder / "wheels") if self.network else {}
            url = self._made_bucket()
            for number, name in enumerate(self._names):
                self.hosts[name] = self._host(name, number, url)
            self._undo.callback(self.stop_all)
            self._undo = self._undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def _made_bucket(self) -> str:
        """Make the bucket; only a process in the servers' network reaches its server."""
        place = self._undo.enter_context(self._storage)
        if self.network is None:
            return made_bucket(place)
        code = f"from tests.bucket import made_bucket; print(made_bucket({place!r}))"
        maker = Instance(self.folder / "maker")
        maker.within = self.network.within("servers")
        return maker.python("-c", code).stdout.strip()

    def _host(self, name: str, number: int, storage: str) -> Instance:
        host = Instance(
            self.folder / name,
            HOST_NAME=name,
            POOLS="site" if name == "site" else "tests,builds",
            WORKERS="1",
            DATABASE_URL=self.postgres.url,
            REDIS_URL=self.redis.url,
            STORAGE_URL=storage,
            SECRET_KEY="s" * 50,
            ENDPOINT_KEYS="e" * 50,
            EVALUATOR_SANDBOX="bubblewrap",
            SANDBOX_HOST_UID=str(_FIRST_UID + _RANGE * number),
            LEASE_SECONDS=str(LEASE_SECONDS),
            INFRA_RETRY_SECONDS="1",
            DAILY_SUBMISSIONS="1000",
            AUDIT_MUTANTS="3",
            SANDBOX_IDLE_MINUTES="1",
            LOG_LEVEL="INFO",
        )
        if name in self._restricted:
            url = self.postgres.url.replace("tests@", f"{ROLE}@")
            host.environment |= {"POOLS": "tests", "DATABASE_URL": url, "SECRET_KEY": "", "ENDPOINT_KEYS": ""}
        if self.network:
            host.within = self.network.within(name)
            host.environment |= self._wheels
        host.make_folders()
        return host

    def start(self, name: str) -> None:
        """Start a host as its operator does."""
        self.hosts[name].start(*(() if name == "site" else ("--workers-only",)))

    def kill(self, name: str) -> None:
        """End every process of a host at once, as a power cut does."""
        process = self.hosts[name].process
        assert process is not None
        below = descendants(process.pid)
        process.kill()
        process.wait()
        kill(below)

    def stop_all(self) -> None:
        """Stop every host in order."""
        running = [host for host in self.hosts.values() if host.process is not None and host.process.poll() is None]
        for host in running:
            host.process.send_signal(SIGTERM)
        for host in running:
            with suppress(subprocess.TimeoutExpired):
                host.process.wait(timeout=60)

    def submit(self, bundle: Path) -> int:
        """Submit a bundle on the site's host; return the submission's number."""
        return int(json.loads(self.hosts["site"].printed("submit", str(bundle), "--json"))["submission"])

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """Ask the database, which also has a Unix socket, and wait up to a minute for one that restarts."""
        rows: list[tuple[Any, ...]] = []

        def answered() -> bool:
            with suppress(psycopg.OperationalError):
                with psycopg.connect(self.postgres.dsn, connect_timeout=5) as connection:
                    cursor = connection.execute(text)
                    rows[:] = cursor.fetchall() if cursor.description else []
                return True
            return False

        wait_until(answered, "the database to answer", seconds=60)
        return rows

    def wait_until_scored(self, seconds: float = 300) -> None:
        """Wait until every submission is scored."""
        wait_until(lambda: self.query(SCORED) == [(0,)], "all submissions to be scored", seconds=seconds)

    def ready(self) -> list[str]:
        """Return the hosts that have made an environment."""
        return [name for (name,) in self.query("SELECT name FROM evaluator_host WHERE environments <> '{}' ORDER BY 1")]

    def accepted(self) -> dict[str, int]:
        """Return how many results of each host were accepted."""
        return Counter(worker.partition(":")[0] for (worker,) in self.query(ACCEPTED))

    def log_ends(self) -> str:
        """The last lines of each host's programs."""
        ends = []
        for name, host in self.hosts.items():
            for log in [host.output, *sorted((host.data / "logs").glob("*.log"))]:
                if log.exists():
                    lines = log.read_text(errors="replace").splitlines()[-15:]
                    ends.append("\n".join([f"--- {name} {log.name}", *lines]))
        return "\n".join(ends)


def _downloaded_wheels(folder: Path) -> dict[str, str]:
    """Download the boxes' packages; return the variables that install from there: a namespace reaches no index."""
    lock = ["--require-hashes", "--requirement", "requirements/box-numpy.txt"]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*download, *lock, "--dest", str(folder)], cwd=PROJECT_ROOT, check=True)
    return {
        f"{tool}_{name}": value
        for tool in ("PIP", "UV")
        for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(folder)))
    }
