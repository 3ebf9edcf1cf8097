"""The environments of bubblewrap boxes: made once, then only read.

Layout below the state folder::

    environments/<name>/<key>/root/             what the box sees as / (without /box, /tmp, /proc, /dev)
    environments/<name>/<key>/environment.json  the digest, and where Python and packages are
    environments/<name>/current                 the key of an image's exported file system

``key`` covers what the environment is made from, the interpreter and the box settings, so a change of any makes a new
environment beside the old one, which boxes that run may still be using. Folders of the operator are taken over by hard
links where the file system lets us: gigabytes then cost nothing, and what an installer replaces there stays here.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from evaluator.sandbox import root_file_system, runtime
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry, EnvironmentList
from evaluator.sandbox.packages import install
from evaluator.sandbox.settings import BOX_SETTINGS_VERSION
from evaluator.sandbox.trees import link_tree, listing_digest, tree_digest
from evaluator.sandbox.types import SandboxError

_STAMP: Final = "environment.json"
_CURRENT: Final = "current"
_UNFINISHED: Final = ".unfinished-"
_NOT_BOUND: Final = frozenset({"box", "dev", "proc", "sys", "tmp"})


@dataclass(frozen=True, slots=True)
class Environment:
    """A finished environment. ``root`` holds the top folders of the box's file system, ``digest`` all of it.

    ``python`` is the interpreter's place in the box, ``path`` where programs are (folders separated by colons; empty
    means the usual ones), ``library_path`` where shared libraries are.
    """

    root: Path
    digest: str
    python: str = "/usr/bin/python3"
    path: str = ""
    library_path: str = f"/{runtime.LIBRARIES}"

    def top_folders(self) -> tuple[str, ...]:
        """The names to bind at ``/``, sorted."""
        return tuple(sorted(entry.name for entry in self._top() if not entry.is_symlink()))

    def links(self) -> tuple[tuple[str, str], ...]:
        """Symbolic links at ``/`` as (target, name), such as ``("usr/bin", "bin")``, sorted by name."""
        links = sorted(entry for entry in self._top() if entry.is_symlink())
        return tuple((str(entry.readlink()), entry.name) for entry in links)

    def variables(self) -> dict[str, str]:
        """What the box's variables need besides: where programs and libraries are."""
        found = {"LD_LIBRARY_PATH": self.library_path} if self.library_path else {}
        return found | ({"PATH": self.path} if self.path else {})

    def _top(self) -> Iterator[Path]:
        return (entry for entry in self.root.iterdir() if entry.name not in _NOT_BOUND)


def prepare_environment(
    name: str,
    state_dir: Path,
    *,
    python: Path = Path("/usr/bin/python3"),
    environments: EnvironmentList = SHIPPED,
) -> Environment:
    """Make the environment ``name`` unless it is there, and return it; quick when it is.

    A folder of the operator is looked at once per process: after a change there, restart the workers.

    Args:
        name: ``numpy`` for ``requirements/box-numpy.txt``.
        state_dir: where environments are kept; every host user must be able to pass through it.
        python: the host's interpreter to copy.
        environments: what the environments are made from.

    Raises:
        SandboxError: nothing says what it is made from, no such interpreter, or a step failed, with its output.
    """
    entry = environments.entry(name)
    if entry.packages or entry.requirements:
        interpreter = _interpreter(python)
        key = _key(_source_digest(entry), interpreter.version, interpreter.binary_digest)
        return _finished(name, key, state_dir, lambda root: _fill_for(interpreter, entry, root))
    if entry.rootfs:
        rootfs = entry.rootfs
        return _finished(name, _key(_listing(rootfs)), state_dir, lambda root: _take_root(rootfs, root, ""))
    return _exported(name, state_dir)


def keep_exported(name: str, image: str, path: str, exported: Path, state_dir: Path) -> Environment:
    """Make the environment ``name`` of an image's file system, which was unpacked to ``exported``.

    Args:
        name: the environment.
        image: the image's ID; the same one is not taken twice.
        path: ``PATH`` of the image.
        exported: on the same file system as ``state_dir``; it may be removed afterwards.
        state_dir: see :func:`prepare_environment`.

    Raises:
        SandboxError: there is no Python in it.
    """
    key = _key(image, path)
    environment = _finished(name, key, state_dir, lambda root: _take_root(exported, root, path))
    draft = state_dir / "environments" / name / f".{_CURRENT}"
    draft.write_text(key, encoding="ascii")
    draft.rename(draft.with_name(_CURRENT))
    return environment


def _exported(name: str, state_dir: Path) -> Environment:
    try:
        key = (state_dir / "environments" / name / _CURRENT).read_text(encoding="ascii")
        return _stamped(state_dir / "environments" / name / key)
    except (OSError, ValueError) as error:
        raise SandboxError(
            f"environment {name!r} is not there: run manage.py build_images, which takes it from its Docker image; "
            "or give it packages, requirements or rootfs in the file that ENVIRONMENTS_FILE names (docs/operating.md)"
        ) from error


def _finished(name: str, key: str, state_dir: Path, fill: Callable[[Path], dict[str, str]]) -> Environment:
    """The environment ``key``, made by ``fill`` when it is not there; ``fill`` says what its stamp holds besides."""
    home = state_dir / "environments" / name
    finished = home / key
    if not (finished / _STAMP).is_file():
        _open_folder(state_dir, state_dir / "environments", home)
        with _exclusive(home / ".lock"):
            if not (finished / _STAMP).is_file():
                _remove_unfinished(home)
                _build(fill, key, home / f"{_UNFINISHED}{secrets.token_hex(4)}", finished)
    return _stamped(finished)


def _stamped(finished: Path) -> Environment:
    stamp = json.loads((finished / _STAMP).read_text())
    places = {key: stamp[key] for key in ("python", "path", "library_path") if key in stamp}
    return Environment(root=finished / "root", digest=stamp["digest"], **places)


def _build(fill: Callable[[Path], dict[str, str]], key: str, unfinished: Path, finished: Path) -> None:
    root = unfinished / "root"
    root.mkdir(parents=True)
    try:
        places = fill(root)
    except OSError as error:
        raise SandboxError(f"the environment {finished.parent.name} cannot be made: {error}") from error
    root.chmod(0o755)
    digest = hashlib.sha256(f"{key}\n{tree_digest(root)}".encode()).hexdigest()
    (unfinished / _STAMP).write_text(json.dumps({"digest": f"sha256:{digest}", **places}))
    (unfinished / _STAMP).chmod(0o444)
    unfinished.chmod(0o755)
    unfinished.rename(finished)


def _fill_for(interpreter: runtime.Interpreter, entry: EnvironmentEntry, root: Path) -> dict[str, str]:
    """A root of our own: the interpreter, its libraries and the packages."""
    packages = root / interpreter.packages.lstrip("/")
    if entry.packages:
        link_tree(entry.packages, packages, bytecode=False, private=True)
    elif entry.requirements:
        install(entry.requirements, target=packages, python=interpreter.executable)
    runtime.copy_interpreter(interpreter, root)
    runtime.copy_libraries(interpreter, root)
    runtime.compile_bytecode(interpreter, root)
    # Linked files are the operator's as well; boxes cannot write to any file here in either case.
    runtime.open_to_all(root, files=not entry.packages)
    return {}


def _take_root(source: Path, root: Path, path: str) -> dict[str, str]:
    """An image's root file system as it is. What only its owner may read is left out: boxes are nobody."""
    python = root_file_system.find_python(source, path)
    link_tree(source, root, bytecode=True, private=False)
    return {"python": python, "path": path or root_file_system.USUAL_PATH, "library_path": ""}


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


def _source_digest(entry: EnvironmentEntry) -> str:
    if entry.packages:
        return _listing(entry.packages)
    assert entry.requirements is not None  # noqa: S101 - the only other source that comes here
    try:
        return hashlib.sha256(entry.requirements.read_bytes()).hexdigest()
    except OSError as error:
        raise SandboxError(f"environment {entry.name!r}: {entry.requirements} cannot be read: {error}") from error


@lru_cache(maxsize=32)
def _listing(folder: Path) -> str:
    try:
        return listing_digest(folder)
    except OSError as error:
        raise SandboxError(f"{folder} cannot be read: {error}") from error


def _key(*parts: str) -> str:
    return hashlib.sha256("\n".join((str(BOX_SETTINGS_VERSION), *parts)).encode()).hexdigest()[:24]


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
