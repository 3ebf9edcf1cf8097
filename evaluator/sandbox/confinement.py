"""How one box is held: by control groups of root's, by a systemd scope of a user's, or (for development) by neither."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from evaluator.sandbox import user_scope
from evaluator.sandbox.cgroups import Group, GroupStore
from evaluator.sandbox.types import Limits, SandboxUnavailableError

_JOIN: Final = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 > "$1" || exit 125; shift; n=$((n-1)); done; exec "$@"'


@dataclass(frozen=True, slots=True)
class Usage:
    """What a box has used: kills for want of memory, processor seconds of all its processes, most bytes at once."""

    oom_kills: int = 0
    cpu_seconds: float = 0.0
    peak_memory: int | None = None


class Confinement(Protocol):
    """One box's hold. ``prefix`` goes before the command, ``variables`` are its environment until the box begins."""

    prefix: list[str]
    variables: dict[str, str]

    def started(self, pid: int) -> None:
        """The command runs as ``pid``. Raises :class:`SandboxError` when it is not held."""

    def usage(self) -> Usage:
        """What the box has used so far."""

    def final_usage(self, report: str) -> Usage:
        """What it used in all, asked after its end; ``report`` is what came through the status pipe."""

    def destroy(self) -> set[int]:
        """Kill every process left and take the hold away; returns whom it killed."""


@dataclass(frozen=True, slots=True)
class HostUser:
    """The host's user and group that boxes run as when the worker is root. Nothing else may belong to them."""

    uid: int
    gid: int

    def drop_command(self) -> list[str]:
        """What to put before a command so that root's rights are gone before it starts."""
        return [
            tool("setpriv", "util-linux"), f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups",
            "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--",
        ]  # fmt: skip


class RootConfinement:
    """Control groups made by root, and a drop to ``user`` once inside."""

    def __init__(self, store: GroupStore, name: str, limits: Limits, user: HostUser) -> None:
        """Raises :class:`SandboxError` when the groups cannot be made."""
        drop = user.drop_command()
        self._group = store.create(name, limits)
        files = [str(path) for path in self._group.join_files()]
        self.prefix = [tool("sh", "dash"), "-c", _JOIN, "sh", str(len(files)), *files, *drop]
        self.variables: dict[str, str] = {}

    def started(self, pid: int) -> None:
        """The shell has put itself into the groups or ended, before anything else could start."""

    def usage(self) -> Usage:
        """From the kernel's counters."""
        return _usage(self._group)

    def final_usage(self, report: str) -> Usage:  # noqa: ARG002  the groups outlive the box, so nobody need report
        """From the kernel's counters."""
        return _usage(self._group)

    def destroy(self) -> set[int]:
        """Kill and remove."""
        return self._group.destroy()


class ScopeConfinement:
    """A systemd scope in the worker's own user session."""

    def __init__(self, name: str, limits: Limits, status: int) -> None:
        """``status`` is the pipe's descriptor. Raises :class:`SandboxUnavailableError` without a session."""
        self.prefix = [*user_scope.scope_command(name, limits, status), tool("env", "coreutils"), "-i"]
        self.variables = user_scope.environment()
        self._name = name
        self._limits = limits
        self._group: Group | None = None
        self._last = Usage()

    def started(self, pid: int) -> None:
        """Wait until the process is in its scope."""
        self._group = user_scope.scope_group(pid, self._name, self._limits)

    def usage(self) -> Usage:
        """From the kernel's counters, the last ones once the scope is gone."""
        if self._group is not None:
            with suppress(OSError):
                self._last = _usage(self._group)
        return self._last

    def final_usage(self, report: str) -> Usage:
        """From what the shell reported when the box had ended."""
        counters = dict(line.split() for line in report.splitlines() if len(line.split()) == 2)
        if "oom_kill" not in counters:
            return self.usage()
        seconds = int(counters.get("usage_usec", 0)) / 1e6
        return Usage(int(counters["oom_kill"]), seconds, self._last.peak_memory)

    def destroy(self) -> set[int]:
        """Kill and remove."""
        return self._group.destroy() if self._group is not None else set()


class NoConfinement:
    """Development override: only limits per process hold. With root, the drop to ``user`` stays."""

    def __init__(self, limits: Limits, user: HostUser | None) -> None:
        """``user`` is ``None`` for a worker that is not root."""
        drop = user.drop_command() if user is not None else []
        self.prefix = [*drop, tool("prlimit", "util-linux"), f"--data={limits.memory_bytes}", "--"]
        self.variables: dict[str, str] = {}

    def started(self, pid: int) -> None:
        """Nothing holds it."""

    def usage(self) -> Usage:
        """Unknown."""
        return Usage()

    def final_usage(self, report: str) -> Usage:  # noqa: ARG002
        """Unknown."""
        return Usage()

    def destroy(self) -> set[int]:
        """The box's own process namespace dies with its first process."""
        return set()


def tool(name: str, package: str) -> str:
    """Where a program is. Raises :class:`SandboxUnavailableError` naming the Debian ``package`` that has it."""
    found = shutil.which(name)
    if found is None:
        raise SandboxUnavailableError(f"{name} is not on PATH: install it (Debian: apt-get install {package})")
    return str(Path(found).absolute())


def _usage(group: Group) -> Usage:
    return Usage(group.oom_kills(), group.cpu_seconds(), group.peak_memory())
