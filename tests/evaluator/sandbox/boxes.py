"""Helpers to run a program in a box and to list what it left."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from evaluator.sandbox.cgroups import GroupStore
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.interface import BoxResult, BoxSpec, Limits, Mount, Sandbox

QUICK = Limits(wall_seconds=10.0, cpu_seconds=5)


def has_own_kernel(sandbox: Sandbox) -> bool:
    """Whether boxes have gVisor's kernel instead of the host's."""
    return isinstance(sandbox, DockerSandbox) and bool(sandbox._runtime)


def own(label: str) -> str:
    """A label of this test process alone, since another one may run the same test at the same time."""
    return f"{label}-{os.getpid()}"


def order(
    code: str,
    *,
    label: str = "test",
    stdin: bytes = b"",
    limits: Limits = QUICK,
    mounts: tuple[Mount, ...] = (),
) -> BoxSpec:
    """A box's order for a program given as its source text; its processes carry ``marker-`` and the label."""
    argv = ("python", "-c", f"{textwrap.dedent(code)}\n# marker-{label}")
    return BoxSpec(label=label, argv=argv, mounts=mounts, stdin=stdin, limits=limits)


def run(
    sandbox: Sandbox,
    code: str,
    *,
    stdin: bytes = b"",
    limits: Limits = QUICK,
    mounts: tuple[Mount, ...] = (),
    cancelled: Callable[[], bool] = lambda: False,
) -> BoxResult:
    """Run a program given as its source text."""
    return sandbox.run(order(code, stdin=stdin, limits=limits, mounts=mounts), cancelled=cancelled)


def leftovers(label: str) -> list[str]:
    """Control groups, containers and processes of boxes with ``label`` that still exist."""
    found = [name for name in GroupStore.of_this_machine().names() if name.startswith(f"{label}.")]
    listing = ["docker", "ps", "--all", "--quiet", "--filter", f"label=lmr-board-box={label}"]
    found += subprocess.run(listing, capture_output=True, text=True, check=False).stdout.split()
    return found + [f"process {pid}: {command}" for pid, command in processes(f"marker-{label}").items()]


def processes(marker: str) -> dict[int, list[str]]:
    """The other processes on this machine that have ``marker`` in their command line, by number."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            command = (folder / "cmdline").read_text(errors="replace")
            if marker in command and folder.name != str(os.getpid()):
                found[int(folder.name)] = command.split("\0")
    return found
