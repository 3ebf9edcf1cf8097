"""An instance's data folder: one instance at a time, private, and marked, so that no other folder is ever deleted."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leaderboard.supervision import SupervisionError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = ".lmr-board"


def mark_as_data_folder(folder: Path) -> None:
    """Make the folder and put the mark into it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(
        "The data folder of an LMR-Board instance. make reset deletes all of it.\n", encoding="ascii"
    )


def make_private(folder: Path) -> str:
    """Take from all other users the right to enter ``folder``, and to read the files in it; older versions gave it.

    Returns a warning where it belongs to somebody else, else nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        folder.chmod(0o700)
        for file in folder.iterdir():
            if file.is_file() and not file.is_symlink():
                file.chmod(file.stat().st_mode & 0o700)
    except PermissionError:
        return f"DATA_DIR is {folder}, which belongs to another user. Let nobody else enter it (chmod 700)."
    return ""


def check_deletable(folder: Path, *, project_root: Path) -> None:
    """Raise :class:`SupervisionError` unless ``folder`` is marked and holds neither the project nor a home folder.

    A mistyped ``DATA_DIR`` must not cost somebody their files.
    """
    resolved = folder.resolve()
    if any(resolved in (kept, *kept.parents) for kept in (project_root.resolve(), Path.home().resolve())):
        msg = f"DATA_DIR is {folder}, which holds more than this instance's data. Nothing was deleted."
        raise SupervisionError(msg)
    if not (folder / MARK).is_file():
        msg = f"{folder} is not the data folder of an instance (it has no file {MARK}). Nothing was deleted."
        raise SupervisionError(msg)


def delete(folder: Path) -> None:
    """Delete the folder and all in it, read-only content too."""
    for path, _, _ in os.walk(folder):
        # Files in a folder that is not writable cannot be removed, and the content store makes such folders.
        Path(path).chmod(0o700)
    shutil.rmtree(folder)


@contextmanager
def only_instance(data_dir: Path) -> Iterator[None]:
    """Hold the data folder for as long as the context lasts.

    The kernel drops the lock with the process, however it ends, so a stale file never blocks a start.
    Raises :class:`SupervisionError` naming the process that holds it.
    """
    file = data_dir / "run" / "serve.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip()
            msg = (
                f"LMR-Board is running already on the data folder {data_dir} (process {holder or 'unknown'}).\n"
                "Stop that one first (Ctrl-C where it runs), or give this one a folder of its own with DATA_DIR."
            )
            raise SupervisionError(msg) from None
        handle.truncate(0)
        handle.write(f"{os.getpid()}\n")
        handle.flush()
        yield
