"""Limits for a worker that is not root: one transient systemd scope per box (control groups version 2).

The scope is gone as soon as its last process is, and its counters with it; so a small shell stays in it beside the box,
reports the counters on the status pipe once the box has ended, and goes last.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Final

from evaluator.sandbox.cgroups import HELPER_PROCESSES, GroupV2
from evaluator.sandbox.types import Limits, SandboxError, SandboxUnavailableError

EPILOGUE: Final = (
    'status=$1; shift; "$@"; code=$?; '
    'read -r line < /proc/self/cgroup; group="/sys/fs/cgroup${line#0::}"; '
    'cat "$group/memory.events" "$group/cpu.stat" > "/proc/self/fd/$status"; exit $code'
)
_SHELL_PROCESSES: Final = 2
_APPEAR_SECONDS: Final = 5.0


def scope_command(name: str, limits: Limits, status: int) -> list[str]:
    """What to put before a command so that it runs in a limited scope and its counters go to descriptor ``status``.

    Raises:
        SandboxUnavailableError: there is no systemd here, or no user session to ask.
    """
    systemd_run, setpriv, shell = (shutil.which(tool) for tool in ("systemd-run", "setpriv", "sh"))
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
    command = [systemd_run, "--user", "--scope", "--quiet", "--collect", f"--unit={unit(name)}"]
    command += [f"--property={key}={value}" for key, value in properties.items()]
    # The shell is the box's parent: should the worker die, it must die too, and the box with it.
    return [*command, setpriv, "--pdeathsig", "KILL", shell, "-c", EPILOGUE, "sh", str(status)]


def unit(name: str) -> str:
    """The scope's unit name."""
    return f"lmr-board-{name}.scope"


def environment() -> dict[str, str]:
    """What systemd-run needs to find the user's manager; the box itself gets none of it."""
    return {key: os.environ[key] for key in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS") if key in os.environ}


def scope_group(pid: int, name: str, limits: Limits) -> GroupV2:
    """The control group of the scope that the process ``pid`` has just entered.

    Raises:
        SandboxError: it does not enter one, or the scope does not hold the memory limit.
    """
    deadline = time.monotonic() + _APPEAR_SECONDS
    while time.monotonic() < deadline:
        path = _unified_path(pid)
        if path.endswith(unit(name)):
            group = Path("/sys/fs/cgroup" + path)
            if (group / "memory.max").read_text().strip() == str(limits.memory_bytes):
                return GroupV2(group)
        time.sleep(0.005)
    raise SandboxError(f"systemd did not give box {name} a scope that limits its memory: is memory delegated to users?")


def _unified_path(pid: int) -> str:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            return line.removeprefix("0::")
    return ""
