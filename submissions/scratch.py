"""Create scratch folders for untrusted files, and remove them whatever they contain."""

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
    """Yield an empty folder below ``parent`` (default: the system's temporary folder); remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        for _ in range(_REMOVALS):
            # A process that was killed just now may still have been writing.
            with suppress(OSError):
                remove_tree(folder)
                break
            time.sleep(_BETWEEN_REMOVALS)
        else:
            remove_tree(folder)


def remove_tree(folder: Path) -> None:
    """Remove ``folder``, however deep, and with any file modes (``shutil.rmtree`` recurses, and fails).

    Folders are moved up one by one, so that no path exceeds the system's limit.
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
