"""Make the environments of bubblewrap boxes: one interpreter with its packages as a small root file system.

Layout below the state folder::

    environments/<name>/<key>/root/             what the box sees as / (without /box, /tmp, /proc, /dev)
    environments/<name>/<key>/environment.json  the digest

``key`` covers the requirements, the interpreter and the box settings, so any change makes a new environment beside the
old one, which running boxes may still use. Everything is copied: the box then sees no host folder, an upgrade of the
host does not change an environment of stored results, and an interpreter below a private home folder works as well as
the system's.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from evaluator.sandbox.box import BOX_SETTINGS_VERSION
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry, EnvironmentList
from evaluator.sandbox.interface import DISK_IS_FULL, SandboxError
from evaluator.sandbox.trees import tree_digest

LIBRARIES: Final = "usr/lib/lmr-board"
"""Folder of shared libraries in the root, flat; boxes name it in ``LD_LIBRARY_PATH``."""

NOT_INSTALLED: Final = "the packages of the boxes' environment could not be installed"
"""Public cause: the full message may contain host names of an index or proxy in this machine's network."""

_PROCESSORS_ONLY: Final = "+cpu"
_HOW_TO_GET_IT: Final = (
    "PyTorch's CPU build is on a separate index: name that one in PIP_EXTRA_INDEX_URL and UV_INDEX, or "
    "put the wheel into a folder that PIP_FIND_LINKS names (docs/operating.md)"
)
_NO_SPACE: Final = os.strerror(errno.ENOSPC)
_STAMP: Final = "environment.json"
_UNFINISHED: Final = ".unfinished-"
_INSTALL_SECONDS: Final = 900
_SHOWN_CHARACTERS: Final = 1500
_NOT_COPIED: Final = (
    "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages",
    "sitecustomize.py", "test", "tkinter", "turtledemo", "usercustomize.py", "_tkinter*.so", "EXTERNALLY-MANAGED",
)  # fmt: skip
_PROBE: Final = """
import json, os, site, sys, sysconfig
json.dump({
    "executable": os.path.realpath(getattr(sys, "_base_executable", sys.executable)),
    "prefix": sys.base_prefix,
    "stdlib": sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix, "base": sys.base_prefix}),
    "packages": site.getsitepackages(["/usr"])[0],
    "version": sys.version,
}, sys.stdout)
"""
_LDD_ARROW: Final = re.compile(r"^\s*(\S+) => (/\S+) \(0x", re.MULTILINE)
_LDD_LOADER: Final = re.compile(r"^\s*(/\S+) \(0x", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Environment:
    """A finished environment. ``root`` holds the top folders of the box's file system; ``digest`` covers all of it."""

    root: Path
    digest: str

    def top_folders(self) -> list[str]:
        """Return the folder names to bind at ``/``, sorted."""
        return sorted(entry.name for entry in self.root.iterdir())


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Facts about the host's interpreter. ``packages`` is where it would look for packages if installed in /usr."""

    executable: Path
    prefix: Path
    stdlib: Path
    packages: str
    version: str
    binary_digest: str

    @classmethod
    def of(cls, python: Path) -> Interpreter:
        """Query ``python``, again only if the file has changed. Raises :class:`SandboxError` if it does not exist."""
        try:
            status = python.stat()
        except OSError as error:
            msg = f"the boxes' interpreter {python} cannot be read ({error}): install Python there"
            raise SandboxError(msg) from error
        return _ask(python, (status.st_ino, status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=8)
def _ask(python: Path, identity: tuple[int, int, int]) -> Interpreter:  # noqa: ARG001  part of the cache's key
    facts = json.loads(run_step([str(python), "-I", "-c", _PROBE], f"asking {python} for its version"))
    paths = {key: Path(facts[key]) for key in ("executable", "prefix", "stdlib")}
    digest = hashlib.sha256(paths["executable"].read_bytes()).hexdigest()
    return Interpreter(**paths, packages=facts["packages"], version=facts["version"], binary_digest=digest)


def prepare_environment(
    name: str,
    state_dir: Path,
    *,
    python: Path = Path("/usr/bin/python3"),
    environments: EnvironmentList = SHIPPED,
) -> Environment:
    """Make the environment ``name`` if necessary, and return it; quick if it exists.

    Args:
        name: ``numpy`` for ``requirements/box-numpy.txt``.
        state_dir: where environments are stored; every host user must be able to pass through it.
        python: the host's interpreter to copy.
        environments: what the environments are made from.

    Raises:
        SandboxError: it has no requirements, the interpreter does not exist, or a step failed (with its output).
        OSError: the host failed, perhaps for lack of space.
    """
    entry = environments.entry(name)
    if entry.requirements is None:
        raise SandboxError(
            f"environment {name!r} is a Docker image, which bubblewrap cannot use: set EVALUATOR_SANDBOX=docker, or "
            "give its tasks an environment with requirements in the file that ENVIRONMENTS_FILE names "
            "(docs/operating.md)"
        )
    interpreter = Interpreter.of(python)
    key = _digest(str(BOX_SETTINGS_VERSION), source_digest(entry), interpreter.version, interpreter.binary_digest)[:24]
    home = state_dir / "environments" / name
    finished = home / key
    if not (finished / _STAMP).is_file():
        for folder in (state_dir, state_dir / "environments", home):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(folder.stat().st_mode | 0o111)
        with _exclusive(home / ".lock"):
            if not (finished / _STAMP).is_file():
                for leftover in home.glob(f"{_UNFINISHED}*"):
                    shutil.rmtree(leftover)
                _make(interpreter, entry.requirements, key, home)
    return Environment(finished / "root", json.loads((finished / _STAMP).read_text())["digest"])


def source_digest(entry: EnvironmentEntry) -> str:
    """Return SHA-256 of the requirements of ``entry``. Raises :class:`SandboxError` when they cannot be read."""
    assert entry.requirements is not None  # noqa: S101 - callers have checked
    try:
        return hashlib.sha256(entry.requirements.read_bytes()).hexdigest()
    except OSError as error:
        raise SandboxError(f"environment {entry.name!r}: {entry.requirements} cannot be read: {error}") from error


def _make(interpreter: Interpreter, requirements: Path, key: str, home: Path) -> None:
    unfinished = home / f"{_UNFINISHED}{secrets.token_hex(4)}"
    root = unfinished / "root"
    root.mkdir(parents=True)
    install(requirements, target=root / interpreter.packages.lstrip("/"), python=interpreter.executable)
    _copy_interpreter(interpreter, root)
    _copy_libraries(interpreter, root)
    _compile_bytecode(interpreter, root)
    root.chmod(0o755)
    for path in root.rglob("*"):  # readable for all, writable for none; the owner may delete folders
        path.chmod(0o755 if path.is_dir() else 0o555 if path.stat().st_mode & 0o111 else 0o444)
    (unfinished / _STAMP).write_text(json.dumps({"digest": f"sha256:{_digest(key, tree_digest(root))}"}))
    (unfinished / _STAMP).chmod(0o444)
    unfinished.chmod(0o755)
    unfinished.rename(home / key)


def _copy_interpreter(interpreter: Interpreter, root: Path) -> None:
    """Copy binary and standard library below ``root/usr``."""
    try:
        below_prefix = interpreter.stdlib.resolve().relative_to(interpreter.prefix.resolve())
    except ValueError as error:
        raise SandboxError(
            f"{interpreter.executable}: its library {interpreter.stdlib} is not below its prefix"
        ) from error
    binary = root / "usr/bin/python3"
    binary.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(interpreter.executable, binary)
    shutil.copytree(
        interpreter.stdlib,
        root / "usr" / below_prefix,
        ignore=shutil.ignore_patterns(*_NOT_COPIED),
        symlinks=False,
        ignore_dangling_symlinks=True,
        dirs_exist_ok=True,
    )


def _copy_libraries(interpreter: Interpreter, root: Path) -> None:
    """Copy the loader and every shared library that a binary in ``root`` links to, unless it is in ``root`` already."""
    binaries = [interpreter.executable, *sorted(path for path in root.rglob("*.so*") if path.is_file())]
    # ldd exits with 1 if one file of a package is not a dynamic library, but still reports the others.
    output = run_step(["ldd", *map(str, binaries)], "reading the libraries that Python needs (ldd)", allowed=(0, 1))
    for loader in sorted(set(_LDD_LOADER.findall(output))):
        place = root / loader.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(loader, place)
    flat = root / LIBRARIES
    flat.mkdir(parents=True, exist_ok=True)
    linked = {(name, Path(path)) for name, path in _LDD_ARROW.findall(output)}
    # libc opens libgcc at run time, to unwind the stack when a thread is cancelled.
    unwinders = {path.with_name("libgcc_s.so.1") for name, path in linked if name.startswith("libc.so")}
    for name, path in sorted(linked | {(path.name, path) for path in unwinders if path.is_file()}):
        if not path.is_relative_to(root):
            shutil.copy2(path, flat / name)


def _compile_bytecode(interpreter: Interpreter, root: Path) -> None:
    """Compile every module now, since boxes cannot write. Modules with another Python's syntax are skipped."""
    command = [str(interpreter.executable), "-I", "-m", "compileall", "-q", "-j", "0", "-s", str(root), "-p", "/"]
    command += ["-x", r"lib2to3|/tests?/data|bad_coding", str(root / "usr")]
    # Exit code 1: a module has another version's syntax. Packages ship such modules, but never import them.
    run_step(command, "compiling the environment's modules", allowed=(0, 1))


def install(lock: Path, *, target: Path, python: Path) -> None:
    """Install the packages of ``lock`` into the folder ``target`` for the interpreter ``python``, checking every hash.

    Wheels only; the site's own environment is never used. Raises :class:`SandboxError` if no installer is available or
    the installation fails, with the end of its output.
    """
    options = ["--quiet", "--target", str(target), "--only-binary", ":all:", "--require-hashes", "-r", str(lock)]
    # pip is slower than uv, but uses mirrors and certificates that only pip's own configuration names.
    tools = {
        "uv": [sys.executable, "-m", "uv", "pip", "install", "--python", str(python), "--link-mode", "copy", *options],
        "pip": [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-compile", *options],
    }
    available = [name for name in tools if importlib.util.find_spec(name) is not None]
    if not available:
        raise SandboxError(f"{lock.name} cannot be installed: install uv into the site's environment (make setup)")
    failures = []
    for name in available:
        shutil.rmtree(target, ignore_errors=True)
        try:
            run_step(tools[name], f"installing {lock} with {name}")
        except SandboxError as error:
            failures.append(str(error))
        else:
            return
    if _PROCESSORS_ONLY in lock.read_text(encoding="utf-8"):
        failures.append(_HOW_TO_GET_IT)
    reasons = "\n".join(failures)
    raise SandboxError(reasons, public=DISK_IS_FULL if _NO_SPACE in reasons else NOT_INSTALLED)


def run_step(command: list[str], what: str, *, allowed: tuple[int, ...] = (0,)) -> str:
    """Run one step of a trusted build; return its output. Raises :class:`SandboxError` with the output's end."""
    # Without variables that would make another interpreter load the site's own packages.
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
            env=environment,
            umask=0o022,  # boxes' users must be able to read the result
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{what} failed: {error}") from error
    if done.returncode not in allowed:
        output = (done.stdout + done.stderr).strip()[-_SHOWN_CHARACTERS:]
        raise SandboxError(f"{what} failed with exit code {done.returncode}: {output}")
    return done.stdout


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
