"""Boxes made by bubblewrap, without a daemon, in tens of milliseconds.

Starting a box: a shell puts itself into the box's control group, ``setpriv`` drops to the box's host user, ``prlimit``
sets limits that control groups lack, bubblewrap makes namespaces and a root of read-only folders, loads the call filter
and starts Python. Outside, this process feeds, drains and watches the box, and finally kills all its processes.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from evaluator.queue.processes import start_ticks
from evaluator.sandbox import fork_server
from evaluator.sandbox.box import BOX_VARIABLES, INTERPRETER_OPTIONS, LocalSandbox, tail
from evaluator.sandbox.box_names import BoxName
from evaluator.sandbox.cgroups import GroupStore, ResourceUsage
from evaluator.sandbox.confinement import (
    Confinement,
    HostUser,
    NoConfinement,
    RootConfinement,
    ScopeConfinement,
    process_limits,
    tool,
)
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentList
from evaluator.sandbox.environments import LIBRARIES, Environment, prepare_environment
from evaluator.sandbox.fork_slots import CONTROL, FORKS, START_SECONDS, Slot
from evaluator.sandbox.forking import ForkServers
from evaluator.sandbox.host_users import DEFAULT_HOST_ID
from evaluator.sandbox.interface import (
    SHARED_MEMORY_BYTES,
    BoxResult,
    BoxSpec,
    Dialogue,
    Ending,
    Limits,
    Mount,
    SandboxError,
    SandboxUnavailableError,
    host_error,
)
from evaluator.sandbox.streams import Capture, Ticker, anonymous_file, process_pump
from evaluator.sandbox.trees import reachable_state_dir

_UNPRIVILEGED_ID: Final = 65534
"""The user and group that the program sees as its own (named "nobody" on Debian)."""

_SET_CHILD_SUBREAPER: Final = 36
_SIGNAL_BASE: Final = 128
_ORPHAN_SECONDS: Final = 1.0
_IN_THE_BACKGROUND: Final = 'log=$1; shift; "$@" > "$log" 2>&1 & echo $!'


class BubblewrapSandbox(LocalSandbox):
    """Boxes that need no daemon. Bubblewrap reports a program's death by a signal as exit code 128 + signal."""

    name = "bubblewrap"

    def __init__(
        self,
        state_dir: Path,
        *,
        environments: EnvironmentList = SHIPPED,
        python: Path = Path("/usr/bin/python3"),
        host_uid: int = DEFAULT_HOST_ID,
        allow_unconfined_resources: bool = False,
        fork_idle_seconds: float = 0.0,
    ) -> None:
        """Store the settings; touch nothing yet.

        Args:
            state_dir: where environments and copies of mounts are stored; see :func:`reachable_state_dir`.
            environments: what the environments are made from.
            python: the host's interpreter, which is copied into boxes.
            host_uid: see :class:`LocalSandbox`; without root all boxes run as this process's own user.
            allow_unconfined_resources: for development: run without control groups if there are none.
            fork_idle_seconds: how long a process with a box's packages imported waits for the next answer (see
                :mod:`evaluator.sandbox.forking`); 0 disables it, as does running without root, since only root's
                control groups outlive the process that makes them.
        """
        super().__init__(state_dir, environments, host_uid=host_uid)
        self.fork_servers = ForkServers(self, fork_idle_seconds)
        self._python = python
        self._is_root = os.geteuid() == 0
        self._allow_unconfined = allow_unconfined_resources

    def environment_digest(self, environment: str) -> str:
        """See :meth:`Sandbox.environment_digest`; makes the environment if it does not exist yet."""
        digest = self._environment(environment).digest
        if not self.entry(environment).loopback:
            return digest
        return "sha256:" + hashlib.sha256(f"{digest}\nloopback".encode()).hexdigest()

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """See :meth:`Sandbox.reap`. Also removes leftovers of ended fork servers, which are not counted."""
        self.fork_servers.sweep()
        return super().reap(keep=keep)

    def _fork(self, spec: BoxSpec, cancelled: Callable[[], bool]) -> BoxResult | None:
        return self.fork_servers.run(spec, cancelled)

    def _run(self, name: BoxName, spec: BoxSpec, cancelled: Callable[[], bool], dialogue: Dialogue | None) -> BoxResult:
        root = _root_options(self._environment(spec.environment), spec)
        user = self._assign_user(self._boxes / str(name)) if self._is_root else None
        confine = partial(self._confine, str(name), spec.limits, user)
        with _Box(spec, dialogue) as box:
            box.start([tool("bwrap", "bubblewrap"), *root], self.call_filter(spec.environment), confine)
            return box.finish(cancelled)

    def forks(self) -> Path | None:
        """See :class:`ServerHost`."""
        return self._state_dir / "forks" if self._store() else None

    def start_server(self, slot: Slot, spec: BoxSpec) -> Callable[[], bool]:
        """See :class:`ServerHost`. A shell starts it and ends, so that no process of the site has to wait for it."""
        environment = self._environment(spec.environment)
        store = GroupStore.of_this_machine()
        confinement = RootConfinement(store, slot.name, spec.limits, self._assign_user(slot.folder))
        group = Mount(store.find(slot.name).readable_counters(), fork_server.GROUP)
        spec = replace(spec, mounts=(*spec.mounts, group))
        bubblewrap = [tool("bwrap", "bubblewrap"), *_root_options(environment, spec, control=slot.control), "--"]
        program = ["/usr/bin/python3", *INTERPRETER_OPTIONS, *spec.argv[1:]]
        command = [*confinement.prefix, *process_limits(spec.limits), *bubblewrap, *program]
        started = subprocess.run(
            [tool("sh", "dash"), "-c", _IN_THE_BACKGROUND, "sh", str(slot.log), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=confinement.variables,
            cwd="/",
            umask=0o022,
            start_new_session=True,
            check=True,
        )
        process = int(started.stdout)
        began = start_ticks(process)
        return lambda: began is not None and start_ticks(process) == began

    def server_usage(self, slot: Slot) -> ResourceUsage:
        """See :class:`ServerHost`."""
        return GroupStore.of_this_machine().find(slot.name).usage()

    def ran_out_of_memory(self, slot: Slot) -> bool:
        """See :class:`ServerHost`."""
        with suppress(FileNotFoundError):  # its group has been removed
            return self.server_usage(slot).oom_kills > 0
        return False

    def stop_server(self, slot: Slot) -> None:
        """See :class:`ServerHost`."""
        self._remove(slot.name)

    def remove_ended_servers(self) -> None:
        """See :class:`ServerHost`."""
        for group in GroupStore.of_this_machine().abandoned(f"{FORKS}-", START_SECONDS):
            group.try_remove()  # never kills: a server may be starting in it at this moment

    def _running(self) -> set[str]:
        """Return the names of control groups. Scopes of user sessions end with their worker."""
        store = self._store()
        return store.names() if store else set()

    def _remove(self, name: str) -> None:
        store = self._store()
        if store is not None:
            store.find(name).destroy()

    @cached_property
    def _state_dir(self) -> Path:
        return reachable_state_dir(self._wanted_state_dir) if self._is_root else self._wanted_state_dir.resolve()

    @property
    def _boxes(self) -> Path:
        return self._state_dir / "boxes"

    def _environment(self, name: str) -> Environment:
        with self._host_errors(f"environment {name!r}"):
            return prepare_environment(name, self._state_dir, python=self._python, environments=self._environments)

    @contextmanager
    def _host_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise host_error(what, error) from error

    def _assign_user(self, folder: Path) -> HostUser:
        """Give copies of answers and golden code to the box's user, so that no other user can read them."""
        number = self._take_user(folder)
        folder.parent.chmod(0o711)
        os.chown(folder, number, number)
        return HostUser(number)

    def _store(self) -> GroupStore | None:
        """Return root's control groups, if any."""
        try:
            return GroupStore.of_this_machine() if self._is_root else None
        except SandboxUnavailableError:
            return None

    def _confine(self, name: str, limits: Limits, user: HostUser | None, status: int) -> Confinement:
        try:
            if user is not None:
                return RootConfinement(GroupStore.of_this_machine(), name, limits, user)
            return ScopeConfinement(name, limits, status)
        except SandboxError:
            if not self._allow_unconfined:
                raise
            return NoConfinement(limits, user)


_boxes_of_this_process = 0
_counting = threading.Lock()


@contextmanager
def _adopting_orphans() -> Iterator[None]:
    """Adopt processes orphaned by a kill, because an init process may not wait for them.

    Only while boxes run: a fork server that another process stops later then has a parent that does wait.
    """
    _count_box(1)
    try:
        yield
    finally:
        _count_box(-1)


def _count_box(change: int) -> None:
    global _boxes_of_this_process
    with _counting:
        _boxes_of_this_process += change
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(_boxes_of_this_process > 0), 0, 0, 0)


class _Box:
    """One box from start to end; as a context manager it always cleans up completely."""

    def __init__(self, spec: BoxSpec, dialogue: Dialogue | None) -> None:
        self._spec = spec
        self._feed = dialogue.feed if dialogue else None
        self._capture = Capture(spec.limits, dialogue)
        self._status = b""
        self._ended = False

    def __enter__(self) -> _Box:
        self._stack = ExitStack()
        self._stack.enter_context(_adopting_orphans())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, bubblewrap: list[str], call_filter: bytes, confine: Callable[[int], Confinement]) -> None:
        """Start the program. ``bubblewrap`` is the command without filter, status pipe and program."""
        self._status_reader, status_writer = os.pipe()
        self._stack.callback(os.close, self._status_reader)
        with ExitStack() as own:  # the program has copies
            own.callback(os.close, status_writer)
            filter_file = anonymous_file(call_filter)
            own.callback(os.close, filter_file)
            self._confinement = confine(status_writer)
            self._stack.callback(self._confinement.destroy)
            command = [
                *self._confinement.prefix,
                *process_limits(self._spec.limits),
                *bubblewrap,
                *("--seccomp", str(filter_file), "--json-status-fd", str(status_writer), "--"),
                *("/usr/bin/python3", *INTERPRETER_OPTIONS, *self._spec.argv[1:]),
            ]
            self._started = time.monotonic()
            # An empty environment: the program can read the variables of bubblewrap, the box's first process.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._confinement.variables,
                pass_fds=(filter_file, status_writer),
                cwd="/",
                umask=0o022,
            )
            self._stack.callback(self._end)
            pump = process_pump(self._process, stdin=self._spec.stdin, capture=self._capture, feed=self._feed)
            self._pump = self._stack.enter_context(pump)
        self._confinement.started(self._process.pid)

    def _end(self) -> None:
        """Kill the box and wait, once, for every process that may be a child of this one."""
        if self._ended:
            return
        self._process.kill()
        killed = self._confinement.destroy()
        self._process.wait()
        # The box's first process may have died with its parent before it was counted among the killed.
        first = {int(line["child-pid"]) for line in _status_lines(self._read_status()) if "child-pid" in line}
        _wait_for_orphans((killed | first) - {self._process.pid})
        self._ended = True

    def finish(self, cancelled: Callable[[], bool]) -> BoxResult:
        """Watch the program to its end. Raises RunCancelledError, and SandboxError when it never started."""
        limits = self._spec.limits
        ticker = Ticker(probe=self._probe, cancelled=cancelled, deadline=self._started + limits.wall_seconds)
        stopped = self._pump.run(ticker)
        wall_seconds = time.monotonic() - self._started
        report = self._read_status() if stopped is None else ""
        usage = self._confinement.final_usage(report)
        self._end()
        self._pump.drain()
        if stopped is None and self._capture.output_exceeded:
            stopped = Ending.OUTPUT_LIMIT
        if stopped is None and not usage.oom_kills:
            self._require_started(report)
        code = self._process.returncode
        return self._capture.result(
            stopped=stopped,
            code=code,
            number=-code if code < 0 else max(0, code - _SIGNAL_BASE),
            out_of_memory=usage.oom_kills > 0,
            cpu_seconds=usage.cpu_seconds,
            wall_seconds=wall_seconds,
            peak_memory=usage.peak_memory,
        )

    def _probe(self) -> Ending | None:
        usage = self._confinement.usage()
        if usage.oom_kills:
            return Ending.OUT_OF_MEMORY
        if usage.cpu_seconds >= self._spec.limits.cpu_seconds:
            return Ending.CPU_TIMEOUT
        return None

    def _read_status(self) -> str:
        """Return the status pipe's content; all its writers are gone when the first process has ended."""
        os.set_blocking(self._status_reader, False)
        with suppress(BlockingIOError):
            while data := os.read(self._status_reader, 4096):
                self._status += data
        return self._status.decode(errors="replace")

    def _require_started(self, report: str) -> None:
        """Raise SandboxError without an exit code: bubblewrap reports one for every program that it could start."""
        if any("exit-code" in line for line in _status_lines(report)):
            return
        code, log = self._process.returncode, tail(bytes(self._capture.stderr)) or "no message"
        if code < 0:
            raise SandboxError(f"box {self._spec.label} was killed from outside (signal {-code}): {log}")
        raise SandboxError(f"box {self._spec.label} could not be set up (exit code {code}): {log}")


def _status_lines(report: str) -> Iterator[dict[str, int]]:
    """Yield complete lines from bubblewrap's status pipe: one object has ``child-pid``, another ``exit-code``."""
    for line in report.splitlines(keepends=True):
        if line.startswith("{") and line.endswith("\n"):
            yield json.loads(line)


def _wait_for_orphans(pids: set[int]) -> None:
    """Wait for those of ``pids``, all killed, that are children of this process."""
    deadline = time.monotonic() + _ORPHAN_SECONDS
    for pid in pids:
        with suppress(ChildProcessError):
            while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.001)


def _root_options(environment: Environment, spec: BoxSpec, *, control: Path | None = None) -> list[str]:
    """Return bubblewrap's options for the box's isolation, file system and variables. It cannot limit tmpfs inodes.

    With ``control``, a folder to write to, they are for a fork server, which outlives this process.
    """
    identity = str(_UNPRIVILEGED_ID)
    options = ["--unshare-all", "--unshare-user", "--new-session", "--clearenv"]
    options += ["--die-with-parent"] if control is None else ["--bind", str(control), CONTROL]
    options += ["--uid", identity, "--gid", identity, "--cap-drop", "ALL", "--hostname", "box"]
    for folder in environment.top_folders():
        options += ["--ro-bind", str(environment.root / folder), f"/{folder}"]
    options += ["--proc", "/proc", "--dev", "/dev"]
    # A terminal's file records when it was last written to, and this one belongs to the whole machine.
    options += ["--dev-bind", "/dev/null", "/dev/tty"]
    options += ["--perms", "1777", "--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    options += ["--perms", "1777", "--size", str(spec.limits.tmpfs_bytes), "--tmpfs", "/tmp"]  # noqa: S108
    for mount in spec.mounts:
        options += ["--ro-bind", str(mount.source), mount.target]
    options += ["--remount-ro", "/", "--chdir", "/tmp"]  # noqa: S108
    for name, value in {**BOX_VARIABLES, "LD_LIBRARY_PATH": f"/{LIBRARIES}", **dict(spec.variables)}.items():
        options += ["--setenv", name, value]
    return options
