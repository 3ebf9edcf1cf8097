"""Guard an instance's data folder: lock it for one instance, keep it private, and delete only a marked folder."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leaderboard.supervision import SupervisionError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = ".lmr-board"


def mark_as_data_folder(folder: Path) -> None:
    """Create the folder and its mark."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(
        "The data folder of an LMR-Board instance. make reset deletes all of it.\n", encoding="ascii"
    )


def make_private(folder: Path) -> str:
    """Remove other users' access to ``folder`` and the files in it, which older versions granted.

    Returns a warning if the folder belongs to another user, else "".
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        folder.chmod(0o700)
        for file in folder.iterdir():
            if file.is_file() and not file.is_symlink():
                file.chmod(file.stat().st_mode & 0o700)
    except PermissionError:
        return f"DATA_DIR is {folder}, which belongs to another user. Deny all others access to it (chmod 700)."
    return ""


def check_deletable(folder: Path, *, project_root: Path) -> None:
    """Raise :class:`SupervisionError` unless ``folder`` is marked and contains neither the project nor the home folder.

    A mistyped ``DATA_DIR`` must not delete other files.
    """
    resolved = folder.resolve()
    if any(resolved in (kept, *kept.parents) for kept in (project_root.resolve(), Path.home().resolve())):
        msg = f"DATA_DIR is {folder}, which holds more than this instance's data. Nothing was deleted."
        raise SupervisionError(msg)
    if not (folder / MARK).is_file():
        msg = f"{folder} is not the data folder of an instance (it has no file {MARK}). Nothing was deleted."
        raise SupervisionError(msg)


def delete(folder: Path) -> None:
    """Delete the folder and everything in it, including read-only content."""
    for path, _, _ in os.walk(folder):
        # The content store creates read-only folders, from which files cannot be removed.
        Path(path).chmod(0o700)
    shutil.rmtree(folder)


@contextmanager
def only_instance(data_dir: Path, *, host: str = "") -> Iterator[None]:
    """Lock the data folder during the context; a ``host`` that only works shares it with others, not with its own name.

    The kernel releases the lock when the process ends, however it ends, so a stale file never blocks a start.
    Raises :class:`SupervisionError` naming the process that holds the lock.
    """
    with ExitStack() as stack:
        stack.enter_context(_locked(data_dir, "serve", fcntl.LOCK_SH if host else fcntl.LOCK_EX))
        if host:
            stack.enter_context(_locked(data_dir, f"host-{host}", fcntl.LOCK_EX))
        yield


@contextmanager
def _locked(data_dir: Path, name: str, kind: int) -> Iterator[None]:
    file = data_dir / "run" / f"{name}.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip()
            msg = (
                f"LMR-Board is already running on the data folder {data_dir} (process {holder or 'unknown'}).\n"
                "Stop it first (Ctrl-C in its terminal), or set DATA_DIR to another folder for this instance."
            )
            raise SupervisionError(msg) from None
        handle.truncate(0)
        if kind == fcntl.LOCK_EX:
            handle.write(f"{os.getpid()}\n")
            handle.flush()
        yield
