"""Fork boxes from a parent with the packages already imported: importing them costs more than most tests.

Bubblewrap's sandbox starts a fork server (:mod:`evaluator.sandbox.fork_server`), confined like a box, and leaves it
running. Any process of this machine whose program has the same environment, modules and limits can then use that
server, one program at a time. An idle server ends itself after a while. A program that ends by itself leaves nothing of
its box; a program that has to be stopped ends its server, too.

If no server can work, or as many are busy as the machine has processors, the sandbox starts the program in the usual
way. It waits for a server that is starting: the modules that a program finds imported must not depend on its order.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, Protocol

import structlog

from evaluator.sandbox import fork_server
from evaluator.sandbox.cgroups import ResourceUsage
from evaluator.sandbox.environment_list import EnvironmentEntry
from evaluator.sandbox.fork_slots import CONTROL, LAUNCH, START_SECONDS, Slot, forget_failures
from evaluator.sandbox.interface import (
    SHARED_MEMORY_BYTES,
    BoxResult,
    BoxSpec,
    Ending,
    SandboxError,
    SandboxUnavailableError,
)
from evaluator.sandbox.streams import Capture, Ticker, anonymous_file, own_pipes
from evaluator.sandbox.trees import module_names

SERVER_PROCESSES: Final = 3
"""The server, and the two processes that create and keep each program's isolation."""

SERVER_MEMORY_BYTES: Final = 32 * 2**20
"""Memory of those processes without imports, so that a program gets as much as in its own box."""

_SERVER_CPU_SECONDS: Final = 2**30  # each program has its own limit
_MOST_SERVERS: Final = os.cpu_count() or 1
_ANSWER_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.02
_TRIES: Final = 2  # a server may end just as it is used
_REPORT_BYTES: Final = 64 * 1024

log = structlog.get_logger(__name__)


class ServerHost(Protocol):
    """Starts and stops servers: bubblewrap's sandbox."""

    def forks(self) -> Path | None:
        """Return the folder for slots; ``None`` if no server can be confined."""

    def environment_digest(self, environment: str) -> str:
        """See :meth:`evaluator.sandbox.interface.Sandbox.environment_digest`."""

    def entry(self, environment: str) -> EnvironmentEntry:
        """Return the entry of ``environment``, with the modules that its servers import."""

    def start_server(self, slot: Slot, spec: BoxSpec) -> Callable[[], bool]:
        """Start the program ``spec.argv`` in ``slot``, to outlive this process; return a test of whether it runs.

        Both raise :class:`SandboxError`.
        """

    def server_usage(self, slot: Slot) -> ResourceUsage:
        """Return what server and programs have used so far."""

    def call_filter(self, environment: str) -> bytes:
        """Return the program that refuses kernel calls in boxes of ``environment``."""

    def ran_out_of_memory(self, slot: Slot) -> bool:
        """Return whether a server that is gone was killed for lack of memory."""

    def stop_server(self, slot: Slot) -> None:
        """Kill the server and all its forks, if it exists."""

    def remove_ended_servers(self) -> None:
        """Remove leftovers of servers of all instances that ended some time ago."""


@dataclass(frozen=True, slots=True)
class _End:
    """End of a program: which limit stopped it, its box's report, and its resources.

    ``whole``: these processes and the server lived to the end.
    """

    stopped: Ending | None
    report: dict[str, Any]
    out_of_memory: bool
    wall_seconds: float
    whole: bool


class ForkServers:
    """The servers of one sandbox, shared by all processes that use its folder."""

    def __init__(self, host: ServerHost, idle_seconds: float) -> None:
        """Store the settings. ``idle_seconds`` is how long a server waits for the next program; 0 means no servers."""
        self._host = host
        self._idle_seconds = idle_seconds

    def run(self, spec: BoxSpec, cancelled: Callable[[], bool]) -> BoxResult | None:
        """Run ``spec``; return ``None`` when no server took it.

        Raises like :meth:`evaluator.sandbox.interface.Sandbox.run`.
        """
        folder = self._host.forks() if self._idle_seconds else None
        if folder is None or not can_fork(spec):
            return None
        own = module_names(tuple(mount.source for mount in spec.mounts))
        # Imports stop at the first name that the repository has itself, since later ones may need it.
        imports = self._host.entry(spec.environment).imports
        modules = tuple(takewhile(lambda name: name.partition(".")[0] not in own, imports))
        with self._free_slot(folder, spec, modules) as slot:
            if slot is None:
                return None
            for _ in range(_TRIES):
                try:
                    connection = self._connect(slot) or self._begin(slot, spec, modules, cancelled)
                except SandboxUnavailableError:  # the host's problem, not this server's
                    raise
                except SandboxError as error:
                    self._give_up(slot, str(error))
                    return None
                with connection:
                    if own & set(json.loads((slot.control / fork_server.MODULES).read_text())):
                        return None
                    result = self._ask(slot, connection, spec, cancelled)
                if result is not None or slot.is_broken():
                    return result
            return None

    def sweep(self, unwanted: Callable[[Slot], bool] = lambda slot: not slot.is_alive()) -> None:
        """Remove leftovers of unused servers that are ``unwanted``; by default those that have ended."""
        folder = self._host.forks()
        if folder is None:
            return
        for slot in Slot.all_below(folder):
            with slot.locked() as free:
                if free and (not slot.folder.exists() or unwanted(slot)):
                    self._discard(slot)
                    slot.lock.unlink()
        forget_failures(folder)
        self._host.remove_ended_servers()

    @contextmanager
    def _free_slot(self, folder: Path, spec: BoxSpec, modules: tuple[str, ...]) -> Iterator[Slot | None]:
        """Reserve a slot for ``modules`` and ``spec``'s environment and limits; None if all are busy."""
        folder.mkdir(parents=True, exist_ok=True)
        key = self._key(folder, spec, modules)
        for slot in [Slot(key, number, folder) for number in range(_MOST_SERVERS)]:
            with slot.locked() as free:
                if free and not slot.is_broken():
                    yield slot
                    return
        yield None

    def _key(self, folder: Path, spec: BoxSpec, modules: tuple[str, ...]) -> str:
        """Return a server's identity on the whole machine, folder included, since control groups have no folder."""
        limits = spec.limits
        program = Path(fork_server.__file__).read_bytes() + self._host.call_filter(spec.environment)
        parts = (
            str(folder),
            self._host.environment_digest(spec.environment),
            modules,
            (limits.memory_bytes, limits.processes, limits.file_bytes, limits.open_files),
            hashlib.sha256(program).hexdigest(),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def _connect(self, slot: Slot) -> socket.socket | None:
        """Return a connection to an existing server with an empty box."""
        connection = slot.connect()
        if connection is not None and any(slot.box.iterdir()):  # its last user was killed meanwhile
            connection.close()
            return None
        return connection

    def _begin(
        self, slot: Slot, spec: BoxSpec, modules: tuple[str, ...], cancelled: Callable[[], bool]
    ) -> socket.socket:
        """Start a server and wait for it. Raises :class:`SandboxError` without an answer, otherwise as :meth:`run`."""
        self._host.stop_server(slot)  # the process that started one may have been killed since
        slot.make(self._host.call_filter(spec.environment))
        server = ("python", f"{LAUNCH}/fork_server.py", CONTROL, f"{LAUNCH}/filter.bpf")
        processes = spec.limits.processes + SERVER_PROCESSES
        imports_bytes = self._host.entry(spec.environment).imports_mb * 2**20 if modules else 0
        memory_bytes = spec.limits.memory_bytes + SERVER_MEMORY_BYTES + imports_bytes
        limits = replace(spec.limits, processes=processes, memory_bytes=memory_bytes, cpu_seconds=_SERVER_CPU_SECONDS)
        argv = (*server, str(self._idle_seconds), *modules)
        runs = self._host.start_server(slot, replace(spec, argv=argv, mounts=slot.mounts(), limits=limits))
        ticker = Ticker(
            probe=lambda: None if runs() else Ending.EXITED,
            cancelled=cancelled,
            deadline=time.monotonic() + START_SECONDS,
        )
        while (connection := slot.connect()) is None:
            if met := ticker.limit_met():
                raise SandboxError(self._why_not(slot, met))
            time.sleep(_LOOK_SECONDS)
        return connection

    def _why_not(self, slot: Slot, met: Ending) -> str:
        """Return why a server that ended or reached its time limit did not start."""
        if met is Ending.WALL_TIMEOUT:
            return f"it did not start in {START_SECONDS:.0f} s"
        if self._host.ran_out_of_memory(slot):
            return "it ran out of memory as it imported: raise imports_mb in the list of environments"
        files = slot.control / fork_server.FAILED, slot.log
        texts = next((file.read_text(errors="replace") for file in files if file.exists()), "")
        return texts[:300] or "it ended before it started"

    def _give_up(self, slot: Slot, reason: str) -> None:
        """Stop the server, and start none like it for a while: this machine or its packages do not allow it."""
        log.warning("no_fork_server", reason=reason)
        self._discard(slot)
        slot.note_broken(reason)

    def _ask(
        self, slot: Slot, connection: socket.socket, spec: BoxSpec, cancelled: Callable[[], bool]
    ) -> BoxResult | None:
        """Let the server fork ``spec``'s program. Return ``None`` if it did not start; the server is gone then.

        Raises :class:`SandboxError` if it started and was killed from outside.
        """
        capture = Capture(spec.limits)
        keeps = False
        try:
            slot.fill(spec)
            end = self._watch(slot, connection, spec, capture, cancelled)
            begun, clean = "begun" in end.report, bool(end.report.get("clean"))
            if begun and clean and end.stopped is None and not end.out_of_memory:
                with suppress(OSError):  # the program has ended properly in any case
                    slot.empty()
                    keeps = True
        finally:
            if not keeps:
                self._discard(slot)
        if "begun" not in end.report:
            if end.report.get("passes"):
                log.warning("box_not_forked", reason=end.report["failed"])
            elif "failed" in end.report:
                self._give_up(slot, end.report["failed"])
            return None
        if end.stopped is None and not end.whole and not end.out_of_memory:
            # A box's programs can kill none of these. So the program's end, if any, may not be its own.
            raise SandboxError(f"box {spec.label} was killed from outside, or the process that it was forked from")
        return _result(capture, end)

    def _watch(
        self, slot: Slot, connection: socket.socket, spec: BoxSpec, capture: Capture, cancelled: Callable[[], bool]
    ) -> _End:
        """Send the order and watch the program to its end; the server is stopped if the program had to be."""
        before = self._host.server_usage(slot)

        def probe() -> Ending | None:
            usage = self._host.server_usage(slot)
            if usage.oom_kills > before.oom_kills:
                return Ending.OUT_OF_MEMORY
            spent = usage.cpu_seconds - before.cpu_seconds
            return Ending.CPU_TIMEOUT if spent >= spec.limits.cpu_seconds else None

        with ExitStack() as own:
            order = self._order(spec)
            pump, streams = own.enter_context(own_pipes(connection.fileno(), stdin=spec.stdin, capture=capture))
            report, writing = os.pipe()
            own.callback(os.close, report)
            with _given(streams, order, writing) as given, suppress(ConnectionError):
                socket.send_fds(connection, [b" "], given)  # a server that has just ended does not read it
            started = time.monotonic()
            ticker = Ticker(probe=probe, cancelled=cancelled, deadline=started + spec.limits.wall_seconds)
            stopped = pump.run(ticker)
            wall_seconds = time.monotonic() - started
            answers = stopped is None and _answers(connection)
            out_of_memory = stopped is None and not answers and self._host.ran_out_of_memory(slot)
            if not answers:
                self._host.stop_server(slot)
            pump.drain()
            reported = _read_report(report)
        if stopped is None and reported.get("oom_kills"):
            out_of_memory = True
        if stopped is Ending.WALL_TIMEOUT and "status" in reported:  # it had ended; only its memory was not returned
            stopped = None
        if stopped is None and capture.output_exceeded:
            stopped = Ending.OUTPUT_LIMIT
        return _End(stopped, reported, out_of_memory, wall_seconds, answers and {"status", "clean"} <= reported.keys())

    def _order(self, spec: BoxSpec) -> dict[str, Any]:
        return {
            "argv": spec.argv[1:],
            "cpu_seconds": spec.limits.cpu_seconds,
            "tmpfs": f"mode=1777,size={spec.limits.tmpfs_bytes},nr_inodes={spec.limits.tmpfs_files}",
            "shared_memory": f"mode=1777,size={SHARED_MEMORY_BYTES}",
            "loopback": self._host.entry(spec.environment).loopback,
        }

    def _discard(self, slot: Slot) -> None:
        self._host.stop_server(slot)
        shutil.rmtree(slot.folder, ignore_errors=True)


def can_fork(spec: BoxSpec) -> bool:
    """Return whether the program may be forked. Its variables could affect how already imported packages start.

    Nor if a mount lies below another, where a link in the outer one could lead it anywhere.
    """
    targets = [Path(mount.target) for mount in spec.mounts]
    overlap = any(one in other.parents for one in targets for other in targets)
    return spec.may_fork and not spec.variables and not overlap


@contextmanager
def _given(streams: tuple[int, ...], order: dict[str, Any], report: int) -> Iterator[list[int]]:
    """Yield the descriptors that are sent with an order, and close them here afterwards."""
    with ExitStack() as own:
        for descriptor in (*streams, report):
            own.callback(os.close, descriptor)
        file = anonymous_file(json.dumps(order).encode())
        own.callback(os.close, file)
        yield [*streams, file, report]


def _answers(connection: socket.socket) -> bool:
    """Return whether the server confirms that the box is gone; otherwise the server is gone itself."""
    connection.settimeout(_ANSWER_SECONDS)
    try:
        return bool(connection.recv(1))
    except (ConnectionResetError, TimeoutError):
        return False


def _read_report(descriptor: int) -> dict[str, Any]:
    """Return the report of the box's first process; all its writers have closed it."""
    os.set_blocking(descriptor, False)
    with suppress(BlockingIOError):
        lines = os.read(descriptor, _REPORT_BYTES).splitlines()
    return {name: value for line in lines for name, value in json.loads(line).items()}


def _result(capture: Capture, end: _End) -> BoxResult:
    status = int(end.report.get("status", signal.SIGKILL))
    return capture.result(
        stopped=end.stopped,
        code=os.WEXITSTATUS(status),
        number=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        out_of_memory=end.out_of_memory,
        cpu_seconds=float(end.report.get("cpu_seconds", 0.0)),
        wall_seconds=end.wall_seconds,
    )
