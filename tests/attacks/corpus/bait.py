"""What is laid out on the host during a round, so that an escape would be seen from outside as well."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

VARIABLE: Final = "LMR_BOARD_BAIT"
_WRITABLE_PLACES: Final = ("/", "/tmp", "/var/tmp", "/dev/shm", "/etc", "/usr/lib", "/root", "/home")


class Bait:
    """A file, an environment variable, a port and an abstract socket of the host, which no box may reach.

    ``MARK`` is a word that nothing else on the machine carries: attacks name files and processes with it.
    """

    def __init__(self, folder: Path) -> None:
        """``folder`` is a scratch folder of the round's own."""
        self.mark = f"lmr-attack-{secrets.token_hex(8)}"
        self.file = folder / f"{self.mark}.secret"
        self._socket_name = f"{self.mark}-socket"

    def __enter__(self) -> Bait:
        self.file.write_text(self.mark)
        self.file.chmod(0o644)
        os.environ[VARIABLE] = self.mark
        self._listener = socket.create_server(("0.0.0.0", 0))
        self._abstract = socket.socket(socket.AF_UNIX)
        self._abstract.bind(f"\0{self._socket_name}")
        self._abstract.listen()
        self._listener.setblocking(False)
        self._abstract.setblocking(False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.environ.pop(VARIABLE, None)
        self._listener.close()
        self._abstract.close()
        self.file.unlink(missing_ok=True)

    @property
    def port(self) -> int:
        """The port on which the host listens."""
        return int(self._listener.getsockname()[1])

    def constants(self) -> str:
        """The lines that tell an attack what to look for. The secret itself is not among them."""
        values = {
            "MARK": self.mark,
            "HOST_PORT": self.port,
            "HOST_SOCKET": self._socket_name,
            "HOST_FILE": str(self.file),
            "HOST_VARIABLE": VARIABLE,
        }
        return "".join(f"{name} = {value!r}\n" for name, value in values.items())

    def taken(self) -> list[str]:
        """What happened to the bait and to the machine: connections, files and processes that carry the mark."""
        found = []
        # A list, so that every connection that waits is taken now and none is told twice.
        if any([_is_of_this_machine(mine, peer) for mine, peer in _connections(self._listener)]):  # noqa: C419
            found.append("somebody connected to the host's port")
        if list(_connections(self._abstract)):
            found.append("somebody connected to the host's abstract socket")
        if self.file.read_text() != self.mark:
            found.append("the host's file was changed")
        places = [Path(place, self.mark) for place in _WRITABLE_PLACES]
        found += [f"{place} was written on the host" for place in places if _exists(place)]
        return found + [f"process {pid} is left" for pid in self._processes()]

    def _processes(self) -> list[int]:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal() and int(folder.name) != os.getpid():
                with suppress(OSError):
                    if self.mark.encode() in (folder / "cmdline").read_bytes():
                        found.append(int(folder.name))
        return found


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except PermissionError:  # a folder that this user may not enter, so that no box of this user's may either
        return False


def _connections(listener: socket.socket) -> Iterator[tuple[Any, Any]]:
    """Our own address and the other's of every connection that waits."""
    with suppress(BlockingIOError):
        while True:
            connection, peer = listener.accept()
            with connection:
                yield connection.getsockname(), peer


def _is_of_this_machine(mine: tuple[str, int], peer: tuple[str, int]) -> bool:
    """Whether a connection may come from a box: strangers on the network, who try every port, prove nothing."""
    return peer[0] == mine[0] or ipaddress.ip_address(peer[0]).is_private
