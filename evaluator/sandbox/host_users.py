"""The host's users that boxes run as, one for each box that is there.

The kernel counts descriptors on their way through sockets, pages of pipes and waiting signals for each user of the
machine. Boxes of one user could take these from each other, and make a sound answer in another box fail.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evaluator.sandbox.types import SandboxUnavailableError

DEFAULT_HOST_ID: Final = 60928
"""The first of 256 numbers that neither systemd, for its dynamic users, nor Debian gives to anybody."""

HOST_USERS: Final = 256
"""How many numbers there are, from the first one on."""


def take_host_user(first: int, folder: Path, taken: Path) -> int:
    """Give ``folder``'s box a user and group that no other box has; they are its own as long as the folder is there.

    In the folder ``taken``, which is made if need be, the numbers lead to the folders. Which one it is is chance: other
    instances, with folders of their own, may have the same numbers.

    Raises:
        SandboxUnavailableError: as many boxes are there as there are numbers.
    """
    folder = folder.absolute()
    taken.mkdir(mode=0o700, exist_ok=True)
    with _locked(taken):
        free = set(range(first, first + HOST_USERS))
        for note in taken.iterdir():
            if note.readlink() == folder or not _leads_somewhere(note):
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


def _leads_somewhere(note: Path) -> bool:
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
