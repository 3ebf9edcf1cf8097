"""The host's users that boxes run as, one for each box that is there.

The kernel counts descriptors on their way through sockets, pages of pipes and waiting signals for each user of the
machine. Boxes of one user could take these from each other, and make a sound answer in another box fail.
"""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from evaluator.sandbox.types import SandboxError

DEFAULT_HOST_ID: Final = 64123
"""The first of numbers that Debian gives to no user or group by itself."""

HOST_USERS: Final = 256
"""How many numbers there are, from the first one on."""

_NOTE: Final = "host-user-"


def take_host_user(first: int, folder: Path, places: Iterable[Path]) -> int:
    """Give ``folder``'s box a user and group that no other folder in ``places`` has; it has them as long as it exists.

    Which one is chance: other instances with places of their own may have the same numbers.

    Raises:
        SandboxError: as many boxes are there as there are numbers.
    """
    with (folder.parent.parent / "host-users.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        free = set(range(first, first + HOST_USERS)) - {number for place in places for number in _taken(place)}
        if not free:
            raise SandboxError(f"{HOST_USERS} boxes are there already, each with a user of its own: run fewer workers")
        number = secrets.choice(sorted(free))
        (folder / f"{_NOTE}{number}").touch()
    return number


def _taken(place: Path) -> Iterable[int]:
    for folder in place.iterdir() if place.is_dir() else ():
        with suppress(OSError):  # removed meanwhile, or a lock beside the folders
            yield from [int(note.name.removeprefix(_NOTE)) for note in folder.glob(f"{_NOTE}*")]
