"""Real management commands in separate processes, on the test's database, queue and data folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection

from leaderboard.supervision.supervisor import children_of as every_child_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PROJECT_ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 150


def environment(**changes: str) -> dict[str, str]:
    """Environment variables for a ``manage.py`` on the test's database, queue and data folder."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "leaderboard.settings",
        "DATA_DIR": str(settings.DATA_DIR),
        "DATABASE_URL": database_url(),
        "ENV_FILE": os.devnull,
        **changes,
    }


def database_url() -> str:
    """The address of the test database."""
    used = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{used['NAME']}"
    host = used["HOST"].replace("/", "%2F")
    password = f":{used['PASSWORD']}" if used["PASSWORD"] else ""
    port = f":{used['PORT']}" if used["PORT"] else ""
    return f"postgres://{used['USER']}{password}@{host}{port}/{used['NAME']}"


@contextmanager
def running(*arguments: str, **changes: str) -> Iterator[subprocess.Popen[bytes]]:
    """``manage.py`` with these arguments, killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT_ROOT,
        env=environment(**changes),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        # A work-horse outlives its worker, and would hold the test's database.
        horses = children_of(process.pid)
        process.kill()
        process.wait()
        kill(horses)
        wait_until(lambda: not any(map(is_running, horses)), "the work-horses to be gone")


def kill(pids: Iterable[int]) -> None:
    """SIGKILL each that still runs."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether the process exists and is more than a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def descendants(ancestor: int) -> list[int]:
    """Children of ``ancestor``, their children, and so on."""
    return [pid for child in every_child_of(ancestor) for pid in (child, *descendants(child))]


def children_of(pid: int) -> list[int]:
    """The processes that ``pid`` started and that still run."""
    tasks = Path(f"/proc/{pid}/task")
    lists = [task / "children" for task in tasks.iterdir()] if tasks.exists() else []
    return [int(child) for file in lists for child in file.read_text().split()]


def wait_until(condition: Callable[[], object], what: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Poll with growing delays, and fail after ``seconds``."""
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        assert waited < seconds, f"waited {seconds} s in vain for {what}"
        time.sleep(min(max(waited / 20, 0.02), 0.5))


def processes_of_boxes(below: int | None = None) -> list[str]:
    """The command lines of the processes inside boxes: of all, or of those that ``below`` started."""
    pids = descendants(below) if below else [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    found = []
    for pid in pids:
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"/box/driver.py" in line:
                found.append(line.decode(errors="replace"))
    return found
