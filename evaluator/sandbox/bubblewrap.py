"""Boxes made by bubblewrap: no daemon, tens of milliseconds.

The way into a box: a shell puts itself into the box's control group, ``setpriv`` drops to the boxes' host user,
``prlimit`` sets what control groups cannot, bubblewrap makes namespaces and a root of read-only folders, loads the call
filter and starts Python. Outside, this process feeds, drains, watches and, at the end, kills whatever is left.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from evaluator.sandbox import seccomp
from evaluator.sandbox.cgroups import GroupStore, ResourceUsage
from evaluator.sandbox.confinement import (
    Confinement,
    HostUser,
    NoConfinement,
    RootConfinement,
    ScopeConfinement,
    tool,
)
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentList
from evaluator.sandbox.environments import LIBRARIES, NOT_INSTALLED, Environment, prepare_environment
from evaluator.sandbox.ownership import BoxName
from evaluator.sandbox.settings import (
    BOX_VARIABLES,
    INTERPRETER_OPTIONS,
    PROBE,
    SHARED_MEMORY_BYTES,
    UNPRIVILEGED_ID,
    check_spec,
    require_ready,
    tail,
)
from evaluator.sandbox.streams import Capture, Pump, Ticker
from evaluator.sandbox.trees import reachable_state_dir, readable_mounts
from evaluator.sandbox.types import (
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

DEFAULT_HOST_ID: Final = 64123
"""A number that Debian gives to no user or group by itself."""

_SET_CHILD_SUBREAPER: Final = 36
_SIGNAL_BASE: Final = 128
_ORPHAN_SECONDS: Final = 1.0


class BubblewrapSandbox:
    """The :class:`evaluator.sandbox.types.Sandbox` that needs no daemon."""

    name = "bubblewrap"

    def __init__(
        self,
        state_dir: Path,
        *,
        environments: EnvironmentList = SHIPPED,
        python: Path = Path("/usr/bin/python3"),
        host_uid: int = DEFAULT_HOST_ID,
        host_gid: int = DEFAULT_HOST_ID,
        allow_unconfined_resources: bool = False,
    ) -> None:
        """Touches nothing yet.

        Args:
            state_dir: where environments and copies of mounts are kept; see :func:`reachable_state_dir`.
            environments: what the environments are made from.
            python: the host's interpreter that boxes get a copy of.
            host_uid: whom boxes run as when this process is root; nobody else's number.
            host_gid: the group likewise.
            allow_unconfined_resources: for development: run without control groups where there are none.
        """
        self._wanted_state_dir = state_dir
        self._environments = environments
        self._python = python
        self._user = HostUser(host_uid, host_gid)
        self._allow_unconfined = allow_unconfined_resources
        self._checked = False

    def check(self) -> None:
        """Run one trivial box. Raises :class:`SandboxUnavailableError` with what to do when that does not work."""
        if self._checked:
            return
        try:
            result = self.run(PROBE)
        except SandboxUnavailableError:
            raise
        except SandboxError as error:
            reason = f"bubblewrap cannot make a box here: {error}"
            if error.public == NOT_INSTALLED:
                raise SandboxUnavailableError(reason, public=NOT_INSTALLED) from error
            raise SandboxUnavailableError(reason) from error
        require_ready(result, "bubblewrap box")
        self._checked = True

    def environment_digest(self, environment: str) -> str:
        """See :meth:`Sandbox.environment_digest`; makes the environment when it is not there yet."""
        return self._environment(environment).digest

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        """See :meth:`Sandbox.run`. Bubblewrap reports a program's death by a signal as exit code 128 + signal."""
        check_spec(spec)
        bwrap = tool("bwrap", "bubblewrap")
        environment = self._environment(spec.environment)
        name = BoxName.fresh(spec)
        try:
            with ExitStack() as stack:
                mounts = readable_mounts(spec, stack.enter_context(self._staging(name)))
                box = stack.enter_context(_Box(spec, self._hold, dialogue))
                box.start(str(name), [bwrap, *_root_options(environment, mounts, spec)])
                return box.finish(cancelled)
        except OSError as error:
            raise host_error(f"box {spec.label}", error) from error

    def reap(self, *, keep: Callable[[str], bool]) -> int:
        """See :meth:`Sandbox.reap`. Scopes of user sessions end with their worker and leave only copies of mounts."""
        left_over: set[str] = set()
        store = GroupStore.of_this_machine() if os.geteuid() == 0 and self._has_groups() else None
        for text in (store.names() if store else set()) | self._staged_names():
            name = BoxName.parse(text)
            if name is None or not name.is_left_over(keep=keep):
                continue
            if store is not None:
                store.find(text).destroy()
            shutil.rmtree(self._boxes / text, ignore_errors=True)
            left_over.add(text)
        return len(left_over)

    @cached_property
    def _state_dir(self) -> Path:
        if os.geteuid() == 0:
            return reachable_state_dir(self._wanted_state_dir)
        return self._wanted_state_dir.resolve()

    @property
    def _boxes(self) -> Path:
        return self._state_dir / "boxes"

    def _environment(self, name: str) -> Environment:
        try:
            return prepare_environment(name, self._state_dir, python=self._python, environments=self._environments)
        except OSError as error:
            raise host_error(f"environment {name!r}", error) from error

    @contextmanager
    def _staging(self, name: BoxName) -> Iterator[Path]:
        folder = self._boxes / str(name)
        folder.mkdir(parents=True, mode=0o700)
        if os.geteuid() == 0:
            # Copies of answers and of golden code: for the boxes' user, and for no other user of this machine.
            self._boxes.chmod(0o711)
            os.chown(folder, self._user.uid, self._user.gid)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def _staged_names(self) -> set[str]:
        return {entry.name for entry in self._boxes.iterdir()} if self._boxes.is_dir() else set()

    def _has_groups(self) -> bool:
        try:
            GroupStore.of_this_machine()
        except SandboxUnavailableError:
            return False
        return True

    def _hold(self, name: str, limits: Limits, status: int) -> Confinement:
        is_root = os.geteuid() == 0
        try:
            if is_root:
                return RootConfinement(GroupStore.of_this_machine(), name, limits, self._user)
            return ScopeConfinement(name, limits, status)
        except SandboxError:
            if not self._allow_unconfined:
                raise
            return NoConfinement(limits, self._user if is_root else None)


class _Box:
    """One box from its start to its end; as a context it leaves nothing behind, whatever happens in between."""

    def __init__(
        self, spec: BoxSpec, hold: Callable[[str, Limits, int], Confinement], dialogue: Dialogue | None
    ) -> None:
        self._spec = spec
        self._make_hold = hold
        self._feed = dialogue.feed if dialogue else None
        self._capture = Capture(spec.limits, dialogue)
        self._status = b""
        self._ended = False

    def __enter__(self) -> _Box:
        # Processes orphaned by a kill come to us instead of an init that may not wait for them.
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._stack = ExitStack()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, name: str, bubblewrap: list[str]) -> None:
        """Start the program. ``bubblewrap`` is the command without filter, status pipe and program."""
        limits = self._spec.limits
        self._status_reader, status_writer = os.pipe()
        self._stack.callback(os.close, self._status_reader)
        try:
            filter_file = _readable_copy(seccomp.deny_filter())
            try:
                self._confinement = self._make_hold(name, limits, status_writer)
                self._stack.callback(self._confinement.destroy)
                command = [
                    *self._confinement.prefix,
                    *_process_limits(limits),
                    *bubblewrap,
                    *("--seccomp", str(filter_file), "--json-status-fd", str(status_writer), "--"),
                    *("/usr/bin/python3", *INTERPRETER_OPTIONS, *self._spec.argv[1:]),
                ]
                self._begin(command, (filter_file, status_writer))
            finally:
                os.close(filter_file)
        finally:
            os.close(status_writer)
        self._confinement.started(self._process.pid)

    def _begin(self, command: list[str], descriptors: tuple[int, ...]) -> None:
        self._started = time.monotonic()
        # An empty environment, since the box's first process is bubblewrap and the program can read its variables.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._confinement.variables,
            pass_fds=descriptors,
            cwd="/",
            umask=0o022,
        )
        self._stack.callback(self._end)
        self._pump = Pump(self._process, stdin=self._spec.stdin, capture=self._capture, feed=self._feed)
        self._stack.callback(self._pump.close)

    def _end(self) -> None:
        """Kill the box and wait, once, for every process that would be ours to wait for."""
        if self._ended:
            return
        self._process.kill()
        killed = self._confinement.destroy()
        self._process.wait()
        # The box's first process may have died with its parent before it could be counted among the killed.
        first = {int(line["child-pid"]) for line in _status_lines(self._read_status()) if "child-pid" in line}
        _wait_for_orphans((killed | first) - {self._process.pid})
        self._ended = True

    def finish(self, cancelled: Callable[[], bool]) -> BoxResult:
        """Watch the program to its end. Raises RunCancelledError, and SandboxError when it never began."""
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
            self._require_begun(report)
        return self._result(stopped, usage, wall_seconds)

    def _probe(self) -> Ending | None:
        usage = self._confinement.usage()
        if usage.oom_kills:
            return Ending.OUT_OF_MEMORY
        if usage.cpu_seconds >= self._spec.limits.cpu_seconds:
            return Ending.CPU_TIMEOUT
        return None

    def _read_status(self) -> str:
        """What came through the status pipe; every writer of it is gone when the first process has ended."""
        os.set_blocking(self._status_reader, False)
        with suppress(BlockingIOError):
            while data := os.read(self._status_reader, 4096):
                self._status += data
        return self._status.decode(errors="replace")

    def _require_begun(self, report: str) -> None:
        """Raise SandboxError without an exit code: bubblewrap reports one of every program that it could start."""
        if any("exit-code" in line for line in _status_lines(report)):
            return
        code, log = self._process.returncode, tail(bytes(self._capture.stderr)) or "no message"
        if code < 0:
            raise SandboxError(f"box {self._spec.label} was killed from outside (signal {-code}): {log}")
        raise SandboxError(f"box {self._spec.label} could not be set up (exit code {code}): {log}")

    def _result(self, stopped: Ending | None, usage: ResourceUsage, wall_seconds: float) -> BoxResult:
        code = self._process.returncode
        number = -code if code < 0 else max(0, code - _SIGNAL_BASE)
        signalled = stopped is not None or number > 0
        return BoxResult(
            ending=stopped or _natural_ending(usage, number, self._spec.limits),
            exit_code=None if signalled else code,
            signal=(number or int(signal.SIGKILL)) if signalled else None,
            stdout=bytes(self._capture.stdout),
            stderr=bytes(self._capture.stderr),
            stderr_truncated=self._capture.stderr_truncated,
            wall_seconds=wall_seconds,
            peak_memory_bytes=usage.peak_memory,
        )


def _status_lines(report: str) -> Iterator[dict[str, int]]:
    """Complete lines that bubblewrap wrote to the status pipe: one object has ``child-pid``, another ``exit-code``."""
    for line in report.splitlines(keepends=True):
        if line.startswith("{") and line.endswith("\n"):
            yield json.loads(line)


def _wait_for_orphans(pids: set[int]) -> None:
    """Wait for those of ``pids``, all killed, that have become our children; the others are not ours to wait for."""
    deadline = time.monotonic() + _ORPHAN_SECONDS
    for pid in pids:
        with suppress(ChildProcessError):
            while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.001)


def _natural_ending(usage: ResourceUsage, number: int, limits: Limits) -> Ending:
    if usage.oom_kills:
        return Ending.OUT_OF_MEMORY
    if number == signal.SIGXCPU or (number == signal.SIGKILL and usage.cpu_seconds >= limits.cpu_seconds):
        return Ending.CPU_TIMEOUT
    return Ending.SIGNALLED if number else Ending.EXITED


def _process_limits(limits: Limits) -> list[str]:
    return [
        tool("prlimit", "util-linux"), "--core=0", f"--nofile={limits.open_files}", f"--fsize={limits.file_bytes}",
        f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}", "--",
    ]  # fmt: skip


def _root_options(environment: Environment, mounts: tuple[Mount, ...], spec: BoxSpec) -> list[str]:
    """Bubblewrap's options for the box's walls, file system and variables. It cannot limit a tmpfs's inodes."""
    identity = str(UNPRIVILEGED_ID)
    options = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"]
    options += ["--uid", identity, "--gid", identity, "--cap-drop", "ALL", "--hostname", "box"]
    for folder in environment.top_folders():
        options += ["--ro-bind", str(environment.root / folder), f"/{folder}"]
    options += ["--proc", "/proc", "--dev", "/dev"]
    options += ["--perms", "1777", "--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    options += ["--perms", "1777", "--size", str(spec.limits.tmpfs_bytes), "--tmpfs", "/tmp"]  # noqa: S108
    for mount in mounts:
        options += ["--ro-bind", str(mount.source), mount.target]
    options += ["--remount-ro", "/", "--chdir", "/tmp"]  # noqa: S108
    for name, value in {**BOX_VARIABLES, "LD_LIBRARY_PATH": f"/{LIBRARIES}", **dict(spec.variables)}.items():
        options += ["--setenv", name, value]
    return options


def _readable_copy(data: bytes) -> int:
    """A descriptor, at its beginning, of an anonymous file that holds ``data``."""
    descriptor = os.memfd_create("box-filter")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
