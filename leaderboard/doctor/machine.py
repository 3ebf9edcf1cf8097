"""Check this host's disks, memory and data folder."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import DatabaseError

from benchmark_tasks.enums import Protocol
from evaluator.hosts import reporting
from evaluator.sandbox.configuration import environment_list, sandbox_state_folder
from evaluator.sandbox.interface import Limits, SandboxError
from evaluator.sandbox.task_environments import revisions_to_measure
from evaluator.sandbox.trees import reachable_state_dir
from evaluator.testing.upstream_boxes import DEFAULT_MEMORY_BYTES
from leaderboard.doctor.findings import failed, ok, warning
from leaderboard.doctor.services import missing_sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.doctor.findings import Finding

GIB: Final = 2**30
FAILED_BYTES: Final = 1 * GIB
WARNING_BYTES: Final = 10 * GIB
WARNING_SHARE: Final = 0.1
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def state_folder() -> Path:
    """Return the folder of bubblewrap's environments. Raises ``SandboxError``, ``OSError``."""
    wanted = sandbox_state_folder()
    return reachable_state_dir(wanted) if os.geteuid() == 0 else wanted.resolve()


def disks() -> Iterator[Finding]:
    """Check the space below the data folder and, if it is elsewhere, where the boxes' environments are."""
    data = Path(settings.DATA_DIR)
    yield disk("DATA_DIR", data)
    try:
        boxes = state_folder()
    except (SandboxError, OSError) as error:
        yield failed("disk of boxes", str(error), "Let the workers' user write there (docs/sandboxes.md).")
        return
    if _existing(boxes).stat().st_dev != _existing(data).stat().st_dev:
        yield disk("boxes", boxes)


def disk(of: str, folder: Path) -> Finding:
    """Check the free space of the file system with ``folder``, which need not exist yet."""
    space = shutil.disk_usage(_existing(folder))
    found = f"{space.free / GIB:.1f} GB of {space.total / GIB:.1f} GB free at {folder}"
    return judged_space(f"disk of {of}", found, space.free, space.total)


def judged_space(name: str, found: str, free: int, total: int) -> Finding:
    """Return the finding for so many free bytes."""
    todo = "Make room there, or put the folder on a larger disk."
    if free < FAILED_BYTES:
        return failed(name, found, todo)
    return warning(name, found, todo) if free < max(WARNING_BYTES, WARNING_SHARE * total) else ok(name, found)


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def memory(root: Path = Path("/")) -> Iterator[Finding]:
    """Compare available memory with what the boxes of all workers may use at once."""
    available, total = reporting.memory(root)
    workers, limit = settings.ENVIRONMENT.workers, _largest_box()
    found = (
        f"{available / GIB:.1f} GB of {total / GIB:.1f} GB available; boxes may use {workers * limit / GIB:.1f} GB "
        f"({workers} workers with up to {limit // 2**20} MB each)"
    )
    todo = "Set WORKERS to a smaller number, or give the host more memory."
    yield ok("memory", found) if available >= workers * limit else warning("memory", found, todo)


def _largest_box() -> int:
    """Return the largest memory limit of a box of the installed tasks, in bytes."""
    limits = [Limits().memory_bytes]
    with suppress(DatabaseError, SandboxError):  # other checks report them
        limits += [(entry.memory_mb or 0) * 2**20 for entry in environment_list().entries]
        for each in () if missing_sqlite_file() else revisions_to_measure():
            upstream = each.protocol == Protocol.UPSTREAM
            limits.append(DEFAULT_MEMORY_BYTES if upstream else int(each.check_settings.get("memory_mb", 0)) * 2**20)
    return max(limits)


def data_folder() -> Iterator[Finding]:
    """Check that the data folder is the site's own, private and writable."""
    name, folder, user = "data folder", Path(settings.DATA_DIR), os.geteuid()
    if not folder.is_dir():
        yield failed(name, f"{folder} does not exist", "Run make setup, or correct DATA_DIR.")
        return
    found = folder.stat()
    mode = f"{folder}, mode {stat.S_IMODE(found.st_mode):04o}"
    files = [each for each in folder.iterdir() if each.is_file() and not each.is_symlink()]
    open_files = [each.name for each in files if each.stat().st_mode & _OTHERS]
    if found.st_uid != user:
        todo = "Run all programs of the instance as one user, or give the folder to this one (chown -R)."
        yield failed(name, f"{mode} belongs to user {found.st_uid}; this is user {user}", todo)
    elif not os.access(folder, os.W_OK | os.X_OK):
        yield failed(name, f"{mode} cannot be written", "Mount it writable, and let its user write there.")
    elif found.st_mode & _OTHERS:
        yield failed(name, f"{mode}: other users may enter it", f"chmod 700 {folder}")
    elif open_files:
        found_files = f"{mode}; modes of files in it are open to others: {', '.join(sorted(open_files)[:3])}"
        yield warning(name, found_files, "make run removes other users' access, or: chmod 600.")
    else:
        yield ok(name, mode)
