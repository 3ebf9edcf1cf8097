"""One running instance per data folder."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leaderboard.supervision.errors import SupervisionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
