"""Limits on one box: root's control groups, a user's systemd scope, or (for development) neither."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.queue.processes import start_ticks
from evaluator.sandbox.cgroups import HELPER_PROCESSES, Group, GroupStore, ResourceUsage
from evaluator.sandbox.interface import Limits, SandboxError, SandboxUnavailableError

_JOIN: Final = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; n=$((n-1)); done; exec "$@"'
REPORT_COUNTERS: Final = (
    "status=$1; limit=$2; shift 2; "
    'read -r line < /proc/self/cgroup; group="/sys/fs/cgroup${line#0::}"; read -r found < "$group/memory.max"; '
    '[ "$found" = "$limit" ] || { echo "this scope has no memory limit: is memory delegated?" >&2; exit 125; }; '
    '"$@"; code=$?; cat "$group/memory.events" "$group/cpu.stat" > "/proc/self/fd/$status"; exit $code'
)
"""The shell that stays in a scope beside the box, and starts none without the memory limit.

A scope and its counters disappear with its last process, so the shell reports them on the status pipe after the box has
ended, and ends last."""

_SHELL_PROCESSES: Final = 2
_APPEAR_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class HostUser:
    """The host's user and group that a box runs as when the worker is root. Nothing else may belong to them."""

    number: int

    def drop_command(self) -> list[str]:
        """Return a command prefix that drops root's rights before the command starts."""
        return [
            tool("setpriv", "util-linux"), f"--reuid={self.number}", f"--regid={self.number}", "--clear-groups",
            "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--",
        ]  # fmt: skip


class Confinement:
    """Limits on one box. ``prefix`` precedes the command; ``variables`` are its environment until the box starts."""

    def __init__(self, prefix: list[str], group: Group | None = None) -> None:
        self.prefix = prefix
        self.variables: dict[str, str] = {}
        self._group = group

    def started(self, pid: int) -> None:
        """Note that the command runs as ``pid``. Raises :class:`SandboxError` when it is not limited."""

    def usage(self) -> ResourceUsage:
        """Return the box's usage so far, from the kernel's counters."""
        return self._group.usage() if self._group is not None else ResourceUsage()

    def final_usage(self, report: str) -> ResourceUsage:  # noqa: ARG002  root's groups outlive the box
        """Return the total usage, after the box's end; ``report`` is the status pipe's content."""
        return self.usage()

    def destroy(self) -> set[int]:
        """Kill every process left and remove the limits; return the pids of the killed processes."""
        return self._group.destroy() if self._group is not None else set()


def process_limits(limits: Limits) -> list[str]:
    """Return a command prefix with limits that control groups lack."""
    return [
        tool("prlimit", "util-linux"), "--core=0", f"--nofile={limits.open_files}", f"--fsize={limits.file_bytes}",
        f"--cpu={limits.cpu_seconds}:{limits.cpu_seconds + 1}", "--",
    ]  # fmt: skip


class RootConfinement(Confinement):
    """Control groups made by root, and a drop to ``user`` once inside.

    The shell puts itself into the groups, or ends before anything else could start.
    """

    def __init__(self, store: GroupStore, name: str, limits: Limits, user: HostUser) -> None:
        """Create the groups. Raises :class:`SandboxError` when that fails."""
        drop = user.drop_command()
        group = store.create(name, limits)
        files = [str(path) for path in group.join_files()]
        super().__init__([tool("sh", "dash"), "-c", _JOIN, "sh", str(len(files)), *files, *drop], group)


class NoConfinement(Confinement):
    """Override for development: only limits per process apply. With root, the drop to ``user`` stays."""

    def __init__(self, limits: Limits, user: HostUser | None) -> None:
        """Set limits per process. ``user`` is ``None`` for a worker that is not root."""
        drop = user.drop_command() if user is not None else []
        super().__init__([*drop, tool("prlimit", "util-linux"), f"--data={limits.memory_bytes}", "--"])


class ScopeConfinement(Confinement):
    """A transient systemd scope in the worker's own user session (control groups version 2)."""

    def __init__(self, name: str, limits: Limits, status: int) -> None:
        """Prepare the scope. ``status`` is the pipe's descriptor.

        Raises :class:`SandboxUnavailableError` without a session.
        """
        super().__init__([*scope_command(name, limits, status), tool("env", "coreutils"), "-i"])
        # systemd-run needs these to find the user's manager; the box itself does not get them.
        names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
        self.variables = {key: os.environ[key] for key in names if key in os.environ}
        self._name = name
        self._limits = limits
        self._last = ResourceUsage()

    def started(self, pid: int) -> None:
        """Wait until the process is in its scope and the scope has the memory limit. Raises ``SandboxError``.

        On a busy host the process may have ended before, and its scope with it; the shell has checked the limit then.
        """
        deadline = time.monotonic() + _APPEAR_SECONDS
        while time.monotonic() < deadline and start_ticks(pid) is not None:
            lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
            path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "")
            if path.endswith(_unit(self._name)):
                group = Path(f"/sys/fs/cgroup{path}")
                with suppress(OSError):  # the scope has just ended
                    if (group / "memory.max").read_text().strip() == str(self._limits.memory_bytes):
                        self._group = Group({"": group})
                        return
            time.sleep(0.005)
        if start_ticks(pid) is None:
            return
        raise SandboxError(
            f"systemd did not give box {self._name} a scope that limits its memory: is memory delegated to users?"
        )

    def usage(self) -> ResourceUsage:
        """Return the kernel's counters, or their last values once the scope is gone."""
        if self._group is not None:
            with suppress(OSError):
                self._last = self._group.usage()
        return self._last

    def final_usage(self, report: str) -> ResourceUsage:
        """Return the usage that the shell reported when the box had ended."""
        counters = dict(line.split() for line in report.splitlines() if len(line.split()) == 2)
        if "oom_kill" not in counters:
            return self.usage()
        seconds = int(counters.get("usage_usec", 0)) / 1e6
        return ResourceUsage(int(counters["oom_kill"]), seconds, self._last.peak_memory)


def scope_command(name: str, limits: Limits, status: int) -> list[str]:
    """Return a command prefix that runs it in a limited scope and writes its counters to descriptor ``status``.

    Raises:
        SandboxUnavailableError: there is no systemd here, or no user session.
    """
    systemd_run, setpriv, shell = (shutil.which(name) for name in ("systemd-run", "setpriv", "sh"))
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    if systemd_run is None or setpriv is None or shell is None or not Path(session, "systemd").is_dir():
        raise SandboxUnavailableError(
            "memory and processes of a box cannot be limited: run the worker as root, or in a systemd user session "
            "(loginctl enable-linger, XDG_RUNTIME_DIR set)"
        )
    properties = {
        "MemoryMax": limits.memory_bytes,
        "MemorySwapMax": 0,
        "TasksMax": limits.processes + HELPER_PROCESSES + _SHELL_PROCESSES,
        "CPUQuota": "100%",
        "Delegate": "yes",
    }
    command = [systemd_run, "--user", "--scope", "--quiet", "--collect", f"--unit={_unit(name)}"]
    command += [f"--property={key}={value}" for key, value in properties.items()]
    # The shell is the box's parent: if the worker dies, the shell must die too, and the box with it.
    arguments = (str(status), str(limits.memory_bytes))
    return [*command, setpriv, "--pdeathsig", "KILL", shell, "-c", REPORT_COUNTERS, "sh", *arguments]


def _unit(name: str) -> str:
    return f"lmr-board-{name}.scope"


def tool(name: str, package: str) -> str:
    """Return a program's path. Raises :class:`SandboxUnavailableError` that names its Debian ``package``."""
    found = shutil.which(name)
    if found is None:
        raise SandboxUnavailableError(f"{name} is not on PATH: install it (Debian: apt-get install {package})")
    return str(Path(found).absolute())
