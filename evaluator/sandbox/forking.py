"""Boxes that are forked from a parent with the packages imported already: importing them costs more than most tests.

Bubblewrap's sandbox starts a fork server (:mod:`evaluator.sandbox.fork_server`) confined like a box and leaves it
there; whichever process of this machine has a program for the same environment, modules and limits next gives it
to that server, one at a time. The server ends itself when nobody comes for a while. A program that ends by itself
leaves nothing of its box; one that has to be stopped takes its server with it.

Where no server can work, or as many are busy as the machine has processors, the sandbox runs the program as it always
can. It waits for a server that begins: a program must not find other modules imported because it came first.
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
from evaluator.sandbox.streams import Capture, Ticker, anonymous_file, own_pipes
from evaluator.sandbox.trees import module_names
from evaluator.sandbox.types import (
    SHARED_MEMORY_BYTES,
    BoxResult,
    BoxSpec,
    Ending,
    SandboxError,
    SandboxUnavailableError,
)

SERVER_PROCESSES: Final = 3
"""The server, and for each program the two that make and keep its walls."""

SERVER_MEMORY_BYTES: Final = 32 * 2**20
"""What those need without any imports, so that programs have no less than in a box of their own."""

_SERVER_CPU_SECONDS: Final = 2**30  # each program has a limit of its own
_MOST_SERVERS: Final = os.cpu_count() or 1
_ANSWER_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.02
_TRIES: Final = 2  # a server may end the moment that it is asked
_REPORT_BYTES: Final = 64 * 1024

log = structlog.get_logger(__name__)


class ServerHost(Protocol):
    """What starts and stops servers: bubblewrap's sandbox."""

    def forks(self) -> Path | None:
        """The folder for slots; ``None`` where no server can be confined."""

    def environment_digest(self, environment: str) -> str:
        """See :meth:`evaluator.sandbox.types.Sandbox.environment_digest`."""

    def entry(self, environment: str) -> EnvironmentEntry:
        """What a server of ``environment`` imports besides NumPy, and what that takes."""

    def start_server(self, slot: Slot, spec: BoxSpec) -> Callable[[], bool]:
        """Start the program ``spec.argv`` in ``slot``, to outlive this process, and return whether it still runs.

        Both raise :class:`SandboxError`.
        """

    def server_usage(self, slot: Slot) -> ResourceUsage:
        """What server and programs have used so far."""

    def call_filter(self, environment: str) -> bytes:
        """The program that refuses kernel calls in boxes of ``environment``."""

    def ran_out_of_memory(self, slot: Slot) -> bool:
        """Whether a server that is gone was killed for want of memory."""

    def stop_server(self, slot: Slot) -> None:
        """Kill the server and whatever it forked, if there is one."""

    def remove_ended_servers(self) -> None:
        """Remove what servers of any instance left that ended some time ago."""


@dataclass(frozen=True, slots=True)
class _End:
    """What became of a program: which limit stopped it, what its box's processes reported, and what it took.

    ``whole`` is whether these and the server lived to the end.
    """

    stopped: Ending | None
    report: dict[str, Any]
    out_of_memory: bool
    wall_seconds: float
    whole: bool


class ForkServers:
    """The servers of one sandbox, shared by all processes that use its folder."""

    def __init__(self, host: ServerHost, idle_seconds: float) -> None:
        """``idle_seconds`` is how long a server waits for the next program; with 0 there are none."""
        self._host = host
        self._idle_seconds = idle_seconds

    def run(self, spec: BoxSpec, cancelled: Callable[[], bool]) -> BoxResult | None:
        """Run ``spec``; ``None`` when no server took it.

        Raises as :meth:`evaluator.sandbox.types.Sandbox.run` does.
        """
        folder = self._host.forks() if self._idle_seconds else None
        if folder is None or not can_fork(spec):
            return None
        own = module_names(tuple(mount.source for mount in spec.mounts))
        # None after one that the repository has itself: those may need it.
        imports = self._host.entry(spec.environment).imports
        modules = tuple(takewhile(lambda name: name.partition(".")[0] not in own, imports))
        with self._free_slot(folder, spec, modules) as slot:
            if slot is None:
                return None
            for _ in range(_TRIES):
                try:
                    connection = self._connect(slot) or self._begin(slot, spec, modules, cancelled)
                except SandboxUnavailableError:  # of the host, not of this server
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
        """Remove what is left of the servers that nobody uses and that are ``unwanted``: those that have ended."""
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
        """A slot for ``modules`` and ``spec``'s environment and limits that nobody else uses meanwhile."""
        folder.mkdir(parents=True, exist_ok=True)
        key = self._key(folder, spec, modules)
        for slot in [Slot(key, number, folder) for number in range(_MOST_SERVERS)]:
            with slot.locked() as free:
                if free and not slot.is_broken():
                    yield slot
                    return
        yield None

    def _key(self, folder: Path, spec: BoxSpec, modules: tuple[str, ...]) -> str:
        """Names what a server is, on the whole machine: control groups know no folder."""
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
        """A connection to a server that is there already, with an empty box."""
        connection = slot.connect()
        if connection is not None and any(slot.box.iterdir()):  # whoever used it before was killed meanwhile
            connection.close()
            return None
        return connection

    def _begin(
        self, slot: Slot, spec: BoxSpec, modules: tuple[str, ...], cancelled: Callable[[], bool]
    ) -> socket.socket:
        """Start a server and wait for it. Raises :class:`SandboxError` if it does not answer, else as :meth:`run`."""
        self._host.stop_server(slot)  # whoever started one may have been killed since
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
        """Why a server that has ended, or has met its limit of time, did not begin."""
        if met is Ending.WALL_TIMEOUT:
            return f"it did not begin in {START_SECONDS:.0f} s"
        if self._host.ran_out_of_memory(slot):
            return "it ran out of memory as it imported: raise imports_mb in the list of environments"
        files = slot.control / fork_server.FAILED, slot.log
        said = next((file.read_text(errors="replace") for file in files if file.exists()), "")
        return said[:300] or "it ended before it began"

    def _give_up(self, slot: Slot, reason: str) -> None:
        """Stop it, and start no such one for a while: this machine cannot, or its packages do not allow it."""
        log.warning("no_fork_server", reason=reason)
        self._discard(slot)
        slot.note_broken(reason)

    def _ask(
        self, slot: Slot, connection: socket.socket, spec: BoxSpec, cancelled: Callable[[], bool]
    ) -> BoxResult | None:
        """Let the server fork ``spec``'s program. ``None`` when that has not begun; the server is gone then.

        Raises :class:`SandboxError` when it has begun and was killed from outside.
        """
        capture = Capture(spec.limits)
        keeps = False
        try:
            slot.fill(spec)
            end = self._watch(slot, connection, spec, capture, cancelled)
            begun, clean = "begun" in end.report, bool(end.report.get("clean"))
            if begun and clean and end.stopped is None and not end.out_of_memory:
                with suppress(OSError):  # the program has ended well all the same
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
            # What runs in a box can kill none of them. So the program's end, if there is one, need not be its own.
            raise SandboxError(f"box {spec.label} was killed from outside, or the process that it was forked from")
        return _result(capture, end)

    def _watch(
        self, slot: Slot, connection: socket.socket, spec: BoxSpec, capture: Capture, cancelled: Callable[[], bool]
    ) -> _End:
        """Hand the order over and see the program to its end; the server is stopped if the program had to be."""
        before = self._host.server_usage(slot)

        def probe() -> Ending | None:
            usage = self._host.server_usage(slot)
            if usage.oom_kills > before.oom_kills:
                return Ending.OUT_OF_MEMORY
            spent = usage.cpu_seconds - before.cpu_seconds
            return Ending.CPU_TIMEOUT if spent >= spec.limits.cpu_seconds else None

        with ExitStack() as ours:
            order = self._order(spec)
            pump, streams = ours.enter_context(own_pipes(connection.fileno(), stdin=spec.stdin, capture=capture))
            report, writing = os.pipe()
            ours.callback(os.close, report)
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
            said = _read_report(report)
        if stopped is None and said.get("oom_kills"):
            out_of_memory = True
        if stopped is Ending.WALL_TIMEOUT and "status" in said:  # it had ended; only its memory was not yet given back
            stopped = None
        if stopped is None and capture.output_exceeded:
            stopped = Ending.OUTPUT_LIMIT
        return _End(stopped, said, out_of_memory, wall_seconds, answers and {"status", "clean"} <= said.keys())

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
    """Whether the program may be forked. Its variables could decide how packages begin that are imported already.

    Nor if a mount lies below another, where a link of that one's could lead it anywhere.
    """
    targets = [Path(mount.target) for mount in spec.mounts]
    overlap = any(one in other.parents for one in targets for other in targets)
    return spec.may_fork and not spec.variables and not overlap


@contextmanager
def _given(streams: tuple[int, ...], order: dict[str, Any], report: int) -> Iterator[list[int]]:
    """The descriptors that go with an order, which are closed here afterwards."""
    with ExitStack() as ours:
        for descriptor in (*streams, report):
            ours.callback(os.close, descriptor)
        file = anonymous_file(json.dumps(order).encode())
        ours.callback(os.close, file)
        yield [*streams, file, report]


def _answers(connection: socket.socket) -> bool:
    """Whether the server says that the box is gone; else it is gone itself."""
    connection.settimeout(_ANSWER_SECONDS)
    try:
        return bool(connection.recv(1))
    except (ConnectionResetError, TimeoutError):
        return False


def _read_report(descriptor: int) -> dict[str, Any]:
    """What the box's first process said, of which no writer is left."""
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
