"""The environments of bubblewrap boxes: made once from a hash-locked list, then only read.

Layout below the state folder::

    environments/<name>/<key>/root/             what the box sees as / (without /box, /tmp, /proc, /dev)
    environments/<name>/<key>/environment.json  the digest and where packages are

``key`` covers the lock, the interpreter and the box settings, so a change of any makes a new environment beside the
old one, which boxes that run may still be using.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from evaluator.sandbox import runtime
from evaluator.sandbox.packages import REQUIREMENTS, install, lock_file
from evaluator.sandbox.settings import BOX_SETTINGS_VERSION
from evaluator.sandbox.types import SandboxError

_STAMP: Final = "environment.json"
_UNFINISHED: Final = ".unfinished-"


@dataclass(frozen=True, slots=True)
class Environment:
    """A finished environment. ``root`` holds the top folders of the box's file system, ``digest`` all of it."""

    root: Path
    digest: str

    def top_folders(self) -> tuple[str, ...]:
        """The names to bind at ``/``, sorted."""
        return tuple(sorted(entry.name for entry in self.root.iterdir()))


def prepare_environment(
    name: str, state_dir: Path, *, python: Path = Path("/usr/bin/python3"), requirements: Path = REQUIREMENTS
) -> Environment:
    """Make the environment ``name`` unless it is there, and return it; quick when it is.

    Args:
        name: ``numpy`` for ``requirements/box-numpy.txt``.
        state_dir: where environments are kept; every host user must be able to pass through it.
        python: the host's interpreter to copy.
        requirements: the folder with the locks.

    Raises:
        SandboxError: no such lock, no such interpreter, or a step failed, with its output.
    """
    lock = lock_file(name, requirements=requirements)
    interpreter = _interpreter(python)
    key = _key(lock.read_bytes(), interpreter)
    home = state_dir / "environments" / name
    finished = home / key
    if not (finished / _STAMP).is_file():
        _open_folder(state_dir, state_dir / "environments", home)
        with _exclusive(home / ".lock"):
            if not (finished / _STAMP).is_file():
                _remove_unfinished(home)
                _build(lock, interpreter, key, home / f"{_UNFINISHED}{secrets.token_hex(4)}", finished)
    stamp = json.loads((finished / _STAMP).read_text())
    return Environment(root=finished / "root", digest=stamp["digest"])


def _interpreter(python: Path) -> runtime.Interpreter:
    """What ``python`` says of itself, asked again only when the file has changed."""
    try:
        status = python.stat()
    except OSError as error:
        raise SandboxError(f"the boxes' interpreter {python} cannot be read ({error}): install Python there") from error
    return _ask(python, (status.st_ino, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=8)
def _ask(python: Path, identity: tuple[int, int, int]) -> runtime.Interpreter:  # noqa: ARG001  part of the cache's key
    return runtime.Interpreter.of(python)


def _key(lock: bytes, interpreter: runtime.Interpreter) -> str:
    parts = [
        str(BOX_SETTINGS_VERSION),
        hashlib.sha256(lock).hexdigest(),
        interpreter.version,
        interpreter.binary_digest,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _build(lock: Path, interpreter: runtime.Interpreter, key: str, unfinished: Path, finished: Path) -> None:
    root = unfinished / "root"
    root.mkdir(parents=True)
    install(lock, target=root / interpreter.packages.lstrip("/"), python=interpreter.executable)
    runtime.copy_interpreter(interpreter, root)
    runtime.copy_libraries(interpreter, root)
    runtime.compile_bytecode(interpreter, root)
    runtime.make_read_only(root)
    digest = hashlib.sha256(f"{key}\n{runtime.tree_digest(root)}".encode()).hexdigest()
    (unfinished / _STAMP).write_text(json.dumps({"digest": f"sha256:{digest}", "python": interpreter.version}))
    (unfinished / _STAMP).chmod(0o444)
    unfinished.chmod(0o755)
    unfinished.rename(finished)


def _remove_unfinished(home: Path) -> None:
    for leftover in home.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover)


def _open_folder(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(folder.stat().st_mode | 0o111)


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
