"""Boxes that are forked from a parent with the packages imported already: importing them costs more than most tests.

A sandbox starts a fork server (:mod:`evaluator.sandbox.fork_server`) in a confinement like a box's and leaves it
there; whichever process of this machine has a program for the same environment, modules and limits next gives it
to that server, one at a time. The server ends itself when nobody comes for a while. A program that ends by itself
leaves nothing of its box; one that has to be stopped takes its server with it.

Where no server is ready, the sandbox runs the program as it always can, and one is started for the next.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from evaluator.sandbox import fork_server, seccomp
from evaluator.sandbox.cgroups import ResourceUsage
from evaluator.sandbox.fork_slots import CONTROL, LAUNCH, Slot
from evaluator.sandbox.streams import Capture, Ticker, own_pipes
from evaluator.sandbox.types import SHARED_MEMORY_BYTES, BoxResult, BoxSpec, Dialogue, Ending, Mount, SandboxError

SERVER_PROCESSES: Final = 3
"""The server, and for each program the two that make and keep its walls."""

_SERVER_CPU_SECONDS: Final = 2**30  # each program has a limit of its own
_MOST_SERVERS: Final = os.cpu_count() or 1
_REPORT_SECONDS: Final = 10.0
_BROKEN_SECONDS: Final = 600.0
"""How long no server is started where one could not do its work."""

log = structlog.get_logger(__name__)


class ServerHost(Protocol):
    """What starts and stops servers: one of the sandboxes."""

    tmpfs_execution: bool
    """Whether programs may execute files that they write."""

    def forks(self) -> Path | None:
        """The folder for slots; ``None`` where no server can be confined."""

    def environment_digest(self, environment: str) -> str:
        """See :meth:`evaluator.sandbox.types.Sandbox.environment_digest`."""

    def imports(self, environment: str) -> tuple[str, ...]:
        """The modules that a server of ``environment`` imports besides NumPy."""

    def start_server(self, slot: Slot, spec: BoxSpec) -> None:
        """Start the program ``spec.argv`` in ``slot``, to outlive this process. Raises :class:`SandboxError`."""

    def server_usage(self, slot: Slot) -> ResourceUsage:
        """What server and programs have used so far, where that can be read cheaply."""

    def ran_out_of_memory(self, slot: Slot) -> bool:
        """Whether a server that is gone was killed for want of memory."""

    def stop_server(self, slot: Slot) -> None:
        """Kill the server and whatever it forked, if there is one."""


class ForkServers:
    """The servers of one sandbox, shared by all processes that use its folder."""

    def __init__(self, host: ServerHost, idle_seconds: float) -> None:
        """``idle_seconds`` is how long a server waits for the next program; with 0 there are none."""
        self._host = host
        self._idle_seconds = idle_seconds
        self._broken_until: dict[str, float] = {}

    def run(self, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult | None:
        """Run ``spec``; ``None`` when no server took it.

        Raises as :meth:`evaluator.sandbox.types.Sandbox.run` does.
        """
        folder = self._host.forks() if self._idle_seconds else None
        if folder is None or not spec.may_fork or spec.variables:
            return None
        own = _module_names(spec.mounts)
        # None after one that the repository has itself: those may need it.
        imports = self._host.imports(spec.environment)
        modules = tuple(takewhile(lambda name: name.partition(".")[0] not in own, imports))
        with self._free_slot(folder, spec, modules) as slot:
            if slot is None:
                return None
            connection = slot.connect()
            if connection is None:
                self._start(slot, spec, modules)
                return None
            with connection:
                if any(slot.box.iterdir()):  # whoever used it before was killed meanwhile
                    self._discard(slot)
                    return None
                if own & set(json.loads((slot.control / fork_server.MODULES).read_text())):
                    return None
                return self._ask(slot, connection, spec, cancelled, dialogue)

    def sweep(self, unwanted: Callable[[Slot], bool] = lambda slot: not slot.is_alive()) -> None:
        """Remove what is left of the servers that nobody uses and that are ``unwanted``: those that have ended."""
        folder = self._host.forks()
        for lock in folder.glob("*.lock") if folder is not None and folder.is_dir() else ():
            _, key, number = lock.stem.split("-")
            slot = Slot(key, int(number), lock.parent)
            with slot.locked() as free:
                if free and slot.folder.exists() and unwanted(slot):
                    self._discard(slot)

    @contextmanager
    def _free_slot(self, folder: Path, spec: BoxSpec, modules: tuple[str, ...]) -> Iterator[Slot | None]:
        """A slot for ``modules`` and ``spec``'s environment and limits that nobody else uses meanwhile."""
        folder.mkdir(parents=True, exist_ok=True)
        key = self._key(folder, spec, modules)
        broken = time.monotonic() < self._broken_until.get(key, 0.0)
        for number in range(0 if broken else _MOST_SERVERS):
            slot = Slot(key, number, folder)
            with slot.locked() as free:
                if free:
                    yield slot
                    return
        yield None

    def _key(self, folder: Path, spec: BoxSpec, modules: tuple[str, ...]) -> str:
        """Names what a server is, on the whole machine: control groups and containers know no folder."""
        limits = spec.limits
        parts = (
            str(folder),
            self._host.environment_digest(spec.environment),
            modules,
            (limits.memory_bytes, limits.processes, limits.file_bytes, limits.open_files),
            hashlib.sha256(Path(fork_server.__file__).read_bytes() + seccomp.deny_filter()).hexdigest(),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def _start(self, slot: Slot, spec: BoxSpec, modules: tuple[str, ...]) -> None:
        """Start a server for the next program, unless one is on its way."""
        if slot.is_young():
            return
        failed, log_file = slot.control / fork_server.FAILED, slot.log
        if slot.folder.exists() and not (slot.control / fork_server.MODULES).exists():
            said = next((file.read_text(errors="replace") for file in (failed, log_file) if file.exists()), "")
            self._give_up(slot, said[:300] or "it did not begin in time")
            return
        self._host.stop_server(slot)
        slot.make()
        server = ("python", f"{LAUNCH}/fork_server.py", CONTROL, f"{LAUNCH}/filter.bpf")
        processes = spec.limits.processes + SERVER_PROCESSES
        limits = replace(spec.limits, processes=processes, cpu_seconds=_SERVER_CPU_SECONDS)
        argv = (*server, str(self._idle_seconds), *modules)
        try:
            self._host.start_server(slot, replace(spec, argv=argv, mounts=slot.mounts(), limits=limits))
        except SandboxError as error:
            self._give_up(slot, str(error))

    def _give_up(self, slot: Slot, reason: str) -> None:
        """Stop it, and start no such one for a while: this machine cannot, or its packages do not allow it."""
        log.warning("no_fork_server", reason=reason)
        self._broken_until[slot.key] = time.monotonic() + _BROKEN_SECONDS
        self._discard(slot)

    def _ask(
        self,
        slot: Slot,
        connection: socket.socket,
        spec: BoxSpec,
        cancelled: Callable[[], bool],
        dialogue: Dialogue | None,
    ) -> BoxResult | None:
        """Let the server fork ``spec``'s program. ``None`` when it could not make the walls; it is gone then."""
        keeps = False
        try:
            slot.fill(spec.mounts)
            result = self._watch(slot, connection, spec, cancelled, dialogue)
            keeps = result is not None and result.ending in (Ending.EXITED, Ending.SIGNALLED)
            if keeps:
                slot.empty()
        finally:
            if not keeps:
                self._discard(slot)
        return result

    def _watch(
        self,
        slot: Slot,
        connection: socket.socket,
        spec: BoxSpec,
        cancelled: Callable[[], bool],
        dialogue: Dialogue | None,
    ) -> BoxResult | None:
        capture = Capture(spec.limits, dialogue)
        before = self._host.server_usage(slot)

        def probe() -> Ending | None:
            usage = self._host.server_usage(slot)
            if usage.oom_kills > before.oom_kills:
                return Ending.OUT_OF_MEMORY
            spent = usage.cpu_seconds - before.cpu_seconds
            return Ending.CPU_TIMEOUT if spent >= spec.limits.cpu_seconds else None

        feed = dialogue.feed if dialogue else None
        with own_pipes(connection.fileno(), stdin=spec.stdin, capture=capture, feed=feed) as (pump, theirs):
            started = time.monotonic()
            try:
                socket.send_fds(connection, [json.dumps(self._order(spec)).encode()], theirs)
            except OSError:  # it has just ended, or the order is too long
                return None
            finally:
                for descriptor in theirs:
                    os.close(descriptor)
            ticker = Ticker(probe=probe, cancelled=cancelled, deadline=started + spec.limits.wall_seconds)
            stopped = pump.run(ticker)
            wall_seconds = time.monotonic() - started
            report: dict[str, Any] = {}
            if stopped is None:
                report = self._report(slot, connection, spec)
                if "failed" in report:
                    self._give_up(slot, report["failed"])
                    return None
            else:
                self._host.stop_server(slot)
            pump.drain()
        if stopped is None and capture.output_exceeded:
            stopped = Ending.OUTPUT_LIMIT
        usage = self._host.server_usage(slot) if stopped is None else before
        status = int(report.get("status", 0))
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return capture.result(
            stopped=stopped,
            code=os.WEXITSTATUS(status),
            number=number,
            out_of_memory=report.get("oom_kills", 0) > 0 or usage.oom_kills > before.oom_kills,
            cpu_seconds=float(report.get("cpu_seconds", 0.0)),
            wall_seconds=wall_seconds,
        )

    def _order(self, spec: BoxSpec) -> dict[str, Any]:
        files = f",nr_inodes={spec.limits.tmpfs_files}" if self._host.tmpfs_execution is False else ""
        return {
            "argv": spec.argv[1:],
            "cpu_seconds": spec.limits.cpu_seconds,
            "execution": self._host.tmpfs_execution,
            "tmpfs": f"mode=1777,size={spec.limits.tmpfs_bytes}{files}",
            "shared_memory": f"mode=1777,size={SHARED_MEMORY_BYTES}",
        }

    def _report(self, slot: Slot, connection: socket.socket, spec: BoxSpec) -> dict[str, Any]:
        """What the server says of the end. Raises :class:`SandboxError` when it is gone, but for want of memory."""
        connection.settimeout(_REPORT_SECONDS)
        try:
            data = connection.recv(fork_server.MESSAGE_BYTES)
        except OSError as error:
            if error.errno not in (None, errno.ECONNRESET):  # None: a timeout
                raise
            data = b""
        if data:
            report: dict[str, Any] = json.loads(data)
            return report
        if self._host.ran_out_of_memory(slot):
            return {"oom_kills": 1, "status": 9}
        raise SandboxError(f"box {spec.label}: the process that it was forked from is gone: was it killed?")

    def _discard(self, slot: Slot) -> None:
        self._host.stop_server(slot)
        shutil.rmtree(slot.folder, ignore_errors=True)


def _module_names(mounts: tuple[Mount, ...]) -> set[str]:
    """The names by which Python may import something below ``mounts`` if their folders are searched.

    What lies in a package is imported by the package's name, so only what lies beside packages counts.
    """
    names: set[str] = set()
    for mount in mounts:
        for _, folders, files in os.walk(mount.source):
            if "__init__.py" not in files:
                names |= {Path(file).stem for file in files if file.endswith(".py")} | set(folders)
    return names
