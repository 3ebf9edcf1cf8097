"""Finding and ending processes, whatever they did to hide. Linux only, like the boxes."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """From now on a dead child's children become ours, so that none can be lost to init."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with_parent(parent: int) -> None:
    """Called in a new child before it becomes its program: have the kernel send SIGTERM when ``parent`` dies."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _table() -> dict[int, tuple[int, int]]:
    """Every process of the machine: id → (parent's id, session's id)."""
    table = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                # The command's name is in parentheses and may itself hold blanks and parentheses.
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                table[int(entry.name)] = (int(fields[1]), int(fields[3]))
    return table


def session_members(session: int) -> list[int]:
    """The processes of the session that a child started with ``start_new_session`` leads."""
    return [pid for pid, (_, its_session) in _table().items() if its_session == session]


def descendants(ancestor: int) -> list[int]:
    """Children of ``ancestor``, their children, and so on."""
    table = _table()
    found = [ancestor]
    for parent in found:
        found.extend(pid for pid, (its_parent, _) in table.items() if its_parent == parent and pid not in found)
    return found[1:]


def kill(pids: list[int]) -> None:
    """SIGKILL each one that still exists."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def end_session(session: int) -> None:
    """Kill every process of the session, and collect those that are ours to collect; at most five seconds long."""
    deadline = time.monotonic() + 5
    while (members := session_members(session)) and time.monotonic() < deadline:
        kill(members)
        for pid in members:
            # Those whose own parent lives are collected there; an orphan among them becomes ours at once.
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)


def kill_all_descendants() -> int:
    """Kill whatever is left below this process, wait until it is gone, and say how many there were."""
    count = 0
    # Killing a parent hands its children to us (see adopt_orphans): look again until there are none.
    while left := descendants(os.getpid()):
        kill(left)
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
                count += 1
    return count


def reap_adopted(own: set[int]) -> None:
    """Collect orphans that have ended; the children in ``own`` are left to who started them."""
    with suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in own:
                return
            os.waitpid(ended.si_pid, 0)
