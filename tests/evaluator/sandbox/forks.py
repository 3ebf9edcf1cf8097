"""Helpers for tests of forked boxes: programs to run, and the fork servers of this process."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from evaluator.queue.processes import start_ticks
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.fork_slots import Slot
from evaluator.sandbox.interface import BoxSpec, Limits, Mount
from tests.evaluator.sandbox.boxes import QUICK, order

WHO = "print('forked' if 'fork' + '_server' in open('/proc/self/cmdline').read() else 'started')"
LIMITS = replace(QUICK, open_files=128 + os.getpid() % 128, processes=60)
"""Unusual limits, so that only this module's tests use the servers."""


def program(code: str, *, limits: Limits = LIMITS, mounts: tuple[Mount, ...] = ()) -> BoxSpec:
    return replace(order(code, limits=limits, mounts=mounts), may_fork=True)


def who(sandbox: BubblewrapSandbox, **changes: object) -> str:
    return sandbox.run(replace(program(WHO), **changes)).stdout.decode().strip()  # type: ignore[arg-type]


def possible_slots(host: BubblewrapSandbox) -> list[Slot]:
    folder = host.forks()
    assert folder is not None
    key = host.fork_servers._key(folder, program(""), ())
    return [Slot(key, number, folder) for number in range(4)]


def slots(host: BubblewrapSandbox) -> list[Slot]:
    return [slot for slot in possible_slots(host) if slot.folder.exists()]


def wait_for_end(server: Slot) -> None:
    deadline = time.monotonic() + 10
    while server.is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def stop(sandbox: BubblewrapSandbox) -> None:
    ours = possible_slots(sandbox)
    sandbox.fork_servers.sweep(lambda slot: slot in ours)
    ours[0].broken.unlink(missing_ok=True)


def processes(sandbox: BubblewrapSandbox, slot: Slot) -> set[int]:
    """The numbers of the server's processes on this machine."""
    store = sandbox._store()
    assert store is not None
    return store.find(slot.name).processes()


def kill(sandbox: BubblewrapSandbox, slot: Slot) -> None:
    """Kill a server from outside: the oldest process first, so that none can report another's end."""
    for process in _oldest_first(sandbox, slot):
        _send(process, signal.SIGKILL)


def terminate(sandbox: BubblewrapSandbox, slot: Slot) -> None:
    """Stop a server as a service manager does: signal all at once. The program's end is reported before others end."""
    ours = _oldest_first(sandbox, slot)
    for number in (signal.SIGSTOP, signal.SIGTERM):
        for process in ours:
            _send(process, number)
    for process in reversed(ours):
        _send(process, signal.SIGCONT)
        time.sleep(0.1)


def _oldest_first(sandbox: BubblewrapSandbox, slot: Slot) -> list[int]:
    return sorted(processes(sandbox, slot), key=lambda number: (start_ticks(number) or 0, number))


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def writable_memory(sandbox: BubblewrapSandbox, slot: Slot) -> dict[int, bytes]:
    """The contents of the server's writable memory, by the addresses of its parts."""
    found = {}
    for process in processes(sandbox, slot):
        if "python" in Path(f"/proc/{process}/cmdline").read_text().partition("\0")[0]:
            with Path(f"/proc/{process}/mem").open("rb", 0) as memory:
                for line in Path(f"/proc/{process}/maps").read_text().splitlines():
                    start, end = (int(number, 16) for number in line.split()[0].split("-"))
                    if " rw" in line and "[v" not in line:
                        memory.seek(start)
                        found[start] = memory.read(end - start)
    return found
