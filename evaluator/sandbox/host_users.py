"""Reserve users of the host for boxes, a different one for each existing box.

The kernel counts descriptors in flight through sockets, pages of pipes and pending signals per user of the machine.
Boxes that share a user could exhaust these for each other and make a right answer in another box fail.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evaluator.sandbox.interface import SandboxUnavailableError

DEFAULT_HOST_ID: Final = 60928
"""The first of 256 ids that neither systemd (for its dynamic users) nor Debian assigns."""

HOST_USERS: Final = 256
"""Number of ids, from the first one on."""


def take_host_user(first: int, folder: Path, taken: Path) -> int:
    """Reserve a user and group for ``folder``'s box that no other box has, for as long as the folder exists.

    In the folder ``taken``, which is made if need be, links named by id point to the folders. The id is random, since
    other instances with other folders may use the same ids.

    Raises:
        SandboxUnavailableError: all ids are in use.
    """
    folder = folder.absolute()
    taken.mkdir(mode=0o700, exist_ok=True)
    with _locked(taken):
        free = set(range(first, first + HOST_USERS))
        for note in taken.iterdir():
            if note.readlink() == folder or not _is_in_use(note):
                note.unlink()
            else:
                free.discard(int(note.name))
        if not free:
            raise SandboxUnavailableError(
                f"{HOST_USERS} boxes are there, each with a user of its own: run fewer workers"
            )
        number = secrets.choice(sorted(free))
        (taken / str(number)).symlink_to(folder)
    return number


def _is_in_use(note: Path) -> bool:
    try:
        return note.exists()
    except PermissionError:  # another user's worker has it
        return True


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
