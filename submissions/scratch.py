"""Make scratch folders for foreign files, and remove them whatever lies in them."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_REMOVALS = 10
_BETWEEN_REMOVALS = 0.05


@contextmanager
def scratch_folder(parent: Path | None = None, *, prefix: str = "lmr-") -> Iterator[Path]:
    """An empty folder below ``parent``, or where temporary files go, that is removed with whatever lies in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        for _ in range(_REMOVALS):
            # A process that was killed a moment ago may still have been writing.
            with suppress(OSError):
                remove_tree(folder)
                break
            time.sleep(_BETWEEN_REMOVALS)
        else:
            remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove ``folder``, however deep it is and whatever modes are in it (``shutil.rmtree`` recurses, and fails).

    Folders are moved up one by one, so that no path grows beyond what the system takes.
    """
    folder.chmod(0o700)
    mark = secrets.token_hex(8)
    count = 0
    pending = [folder]
    while pending:
        place = pending.pop()
        for entry in list(os.scandir(place)):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108 - os.scandir gives strings
                continue
            os.chmod(entry.path, 0o700)  # noqa: PTH101 - the same
            count += 1
            pending.append(Path(entry.path).rename(folder / f"{mark}-{count}"))
        if place is not folder:
            place.rmdir()
    folder.rmdir()
