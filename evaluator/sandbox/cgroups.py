"""Control groups of boxes, version 1 and 2, for a worker that runs as root.

Every box gets one group ``lmr-board/<box name>`` (on version 1 one in each hierarchy) with limits on memory including
swap, processes and processor share. The kernel's counters report what happened; killing repeats until it is empty.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.sandbox.interface import Limits, SandboxError, SandboxUnavailableError

PARENT: Final = "lmr-board"
NEEDED: Final = ("memory", "pids", "cpu")
PERIOD_MICROSECONDS: Final = 100_000
HELPER_PROCESSES: Final = 2
"""bubblewrap's monitor and the box's first process, which the limit counts as well."""

SOCKET_BYTES: Final = 16 * 1024 * 1024
"""A box's limit for buffers of TCP and UDP, which version 1 counts separately and only if there is a limit."""

_EMPTY_SECONDS: Final = 10.0
_USUAL_WEIGHTS: Final = {"cpu.shares": 1024, "cpu.weight": 100}
_MOST_WEIGHT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where control groups are mounted: version 1 by controller, version 2 as one tree."""

    v1: Mapping[str, Path]
    v2: Path | None


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """Resources that a box has used: out-of-memory kills, processor seconds of all processes, peak memory in bytes."""

    oom_kills: int = 0
    cpu_seconds: float = 0.0
    peak_memory: int | None = None


def read_hierarchies(mountinfo: str) -> Hierarchies:
    """Find the control group mounts in the text of ``/proc/self/mountinfo`` (format: proc(5))."""
    v1: dict[str, Path] = {}
    v2: Path | None = None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        mount_point = Path(before.split()[4].replace("\\040", " "))
        kind, _, options = after.split(maxsplit=2)
        if kind == "cgroup2":
            v2 = v2 or mount_point
        elif kind == "cgroup":
            for controller in options.split(","):
                v1.setdefault(controller, mount_point)
    return Hierarchies(v1=v1, v2=v2)


class Group:
    """One box's control group: a directory in each hierarchy of version 1, or one in the tree of version 2.

    Times are seconds, sizes bytes.
    """

    def __init__(self, directories: Mapping[str, Path]) -> None:
        """Describe a group by ``directories``: one per controller on version 1; on version 2 one, with an empty key."""
        self._at = directories
        self._is_v1 = "" not in directories
        self.directories = tuple(dict.fromkeys(directories.values()))

    def readable_counters(self) -> Path:
        """Return the folder of its memory counters, and make it readable for every user regardless of the umask."""
        folder = self._at["memory" if self._is_v1 else ""]
        for place in (folder.parent, folder):
            place.chmod(0o755)
        return folder

    def limit(self, limits: Limits) -> None:
        """Write the limits of a new group."""
        processes = str(limits.processes + HELPER_PROCESSES)
        if not self._is_v1:
            directory = self._at[""]
            (directory / "memory.max").write_text(str(limits.memory_bytes))
            if (directory / "memory.swap.max").exists():
                (directory / "memory.swap.max").write_text("0")
            (directory / "memory.oom.group").write_text("1")
            (directory / "pids.max").write_text(processes)
            (directory / "cpu.max").write_text(f"{PERIOD_MICROSECONDS} {PERIOD_MICROSECONDS}")
            return
        memory, cpu = self._at["memory"], self._at["cpu"]
        (memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
        with_swap = memory / "memory.memsw.limit_in_bytes"
        if with_swap.exists():
            with_swap.write_text(str(limits.memory_bytes))
        else:
            (memory / "memory.swappiness").write_text("0")
        sockets = memory / "memory.kmem.tcp.limit_in_bytes"
        if sockets.exists():
            sockets.write_text(str(SOCKET_BYTES))
        (self._at["pids"] / "pids.max").write_text(processes)
        (cpu / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
        (cpu / "cpu.cfs_quota_us").write_text(str(PERIOD_MICROSECONDS))

    def usage(self) -> ResourceUsage:
        """Return the box's usage so far, from the kernel's counters."""
        if self._is_v1:
            memory = self._at["memory"]
            return ResourceUsage(
                oom_kills=_read_counter(memory / "memory.oom_control", "oom_kill"),
                cpu_seconds=int((self._at["cpuacct"] / "cpuacct.usage").read_text()) / 1e9,
                peak_memory=int((memory / "memory.max_usage_in_bytes").read_text()),
            )
        directory = self._at[""]
        peak = directory / "memory.peak"  # kernels before 5.19 lack it
        return ResourceUsage(
            oom_kills=_read_counter(directory / "memory.events", "oom_kill"),
            cpu_seconds=_read_counter(directory / "cpu.stat", "usage_usec") / 1e6,
            peak_memory=int(peak.read_text()) if peak.exists() else None,
        )

    def join_files(self) -> tuple[Path, ...]:
        """Return the files into which a process writes ``0`` to enter the group."""
        return tuple(directory / "cgroup.procs" for directory in self.directories)

    def processes(self) -> set[int]:
        """Return the pids of the processes inside."""
        found: set[int] = set()
        for path in self.join_files():
            with suppress(OSError):  # removed, or being removed
                found.update(int(line) for line in path.read_text().split())
        return found

    def is_abandoned(self, seconds: float) -> bool:
        """Return whether it was made more than ``seconds`` ago and no process runs in it."""
        with suppress(FileNotFoundError):
            youngest = max(directory.stat().st_mtime for directory in self.directories)
            return time.time() - youngest > seconds and not self.processes()
        return False

    def destroy(self) -> set[int]:
        """Kill until no process is left, then remove the group; return the pids of the killed processes.

        Raises:
            SandboxError: the group stays busy, because a process hangs in the kernel.
        """
        deadline = time.monotonic() + _EMPTY_SECONDS
        pause = 0.0005
        killed: set[int] = set()
        while not self.try_remove():
            if time.monotonic() > deadline:
                raise SandboxError(f"control group {self.directories[0]} stays busy: a process hangs in it")
            self._stop_forks()
            killed |= self._kill_all()
            time.sleep(pause)
            pause = min(0.02, pause * 2)
        return killed

    def _stop_forks(self) -> None:
        """Ensure that killing catches up with a program that forks endlessly."""
        # A group of version 2 may lack the controller "pids".
        _write_if_there(self._at["pids" if self._is_v1 else ""] / "pids.max", "0")

    def _kill_all(self) -> set[int]:
        if not self._is_v1:
            # Killed processes leave the list at once, so it is read first. Kernels before 5.14 lack ``cgroup.kill``.
            inside = self.processes()
            if _write_if_there(self._at[""] / "cgroup.kill", "1"):
                return inside
        # A pid read from the group may belong to another process by the time it is signalled. A descriptor is bound to
        # its process: only processes in the group before and after taking the descriptor are killed.
        descriptors: dict[int, int] = {}
        for number in self.processes():
            with suppress(ProcessLookupError):
                descriptors[number] = os.pidfd_open(number)
        inside = self.processes()
        for number, descriptor in descriptors.items():
            if number in inside:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        return inside & descriptors.keys()

    def try_remove(self) -> bool:
        """Remove the group unless a process runs in it; return whether it is gone."""
        for directory in self.directories:
            try:
                directory.rmdir()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                return False
        return True


class GroupStore:
    """Creates boxes' groups and finds existing ones."""

    def __init__(self, hierarchies: Hierarchies) -> None:
        """Choose the version. Raises :class:`SandboxUnavailableError` without a complete set of controllers."""
        self._hierarchies = hierarchies
        self._is_v1 = all(controller in hierarchies.v1 for controller in (*NEEDED, "cpuacct"))
        if self._is_v1:
            self._parents = {name: hierarchies.v1[name] / PARENT for name in (*NEEDED, "cpuacct")}
        elif hierarchies.v2 is not None:
            self._parents = {"": hierarchies.v2 / PARENT}
        else:
            raise SandboxUnavailableError(
                "no control groups are mounted (neither version 1 with memory, pids, cpu and cpuacct, nor version 2), "
                "so a box's memory could not be limited: mount /sys/fs/cgroup or use Docker"
            )

    @classmethod
    def of_this_machine(cls) -> GroupStore:
        """Return the store for the mounts that this process sees. Raises :class:`SandboxUnavailableError`."""
        return cls(read_hierarchies(Path("/proc/self/mountinfo").read_text()))

    def create(self, name: str, limits: Limits) -> Group:
        """Create a group and write its limits. Raises :class:`SandboxError`."""
        group = self.find(name)
        try:
            self._prepare_parents()
            for directory in group.directories:
                directory.mkdir()
            group.limit(limits)
        except OSError as error:
            group.destroy()
            raise SandboxError(
                f"the control group for box {name} could not be made ({error}): run the worker as root with a writable "
                "/sys/fs/cgroup"
            ) from error
        return group

    def find(self, name: str) -> Group:
        """Return a box's group by its name, whether it exists or not."""
        return Group({controller: parent / name for controller, parent in self._parents.items()})

    def names(self) -> set[str]:
        """Return the names of all existing groups, in any hierarchy."""
        return {
            entry.name
            for parent in self._parents.values()
            if parent.is_dir()
            for entry in parent.iterdir()
            if entry.is_dir()
        }

    def abandoned(self, prefix: str, seconds: float) -> list[Group]:
        """Return groups named with ``prefix`` that are older than ``seconds`` and have no processes."""
        groups = [self.find(name) for name in self.names() if name.startswith(prefix)]
        return [group for group in groups if group.is_abandoned(seconds)]

    def _prepare_parents(self) -> None:
        fresh = [parent for parent in self._parents.values() if not parent.is_dir()]
        for parent in self._parents.values():
            parent.mkdir(exist_ok=True)
        if not self._is_v1:
            parent = self._parents[""]
            for directory in (parent.parent, parent):
                _enable_controllers(directory)
        for parent in fresh:
            _set_weight(parent)


def _enable_controllers(directory: Path) -> None:
    control = directory / "cgroup.subtree_control"
    missing = set(NEEDED) - set(control.read_text().split())
    if missing:
        control.write_text(" ".join(f"+{name}" for name in sorted(missing)))


def _set_weight(parent: Path) -> None:
    """Give all boxes together the scheduling weight of one process per processor, once; operators may change it.

    Otherwise they would all share one process's portion, and on a busy host a candidate would use up its wall time
    without running.
    """
    processors = os.cpu_count() or 1
    for name, usual in _USUAL_WEIGHTS.items():
        if (parent / name).exists():
            (parent / name).write_text(str(min(usual * processors, _MOST_WEIGHT)))


def _write_if_there(path: Path, text: str) -> bool:
    """Write to a group's file; return whether it exists. Another process may remove the group at any moment.

    The kernel refuses to create a file (``EPERM``, ``EACCES``), and to write to one that was opened before its group
    was removed (``ENODEV``).
    """
    try:
        path.write_text(text)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.EPERM, errno.EACCES, errno.ENODEV}:
            return False
        raise
    return True


def _read_counter(path: Path, key: str) -> int:
    for line in path.read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    raise SandboxError(f"{path} has no line {key!r}: this kernel does not count what a box needs (4.13 or newer does)")
