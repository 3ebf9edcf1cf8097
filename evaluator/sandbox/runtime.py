"""A small root file system that holds one Python interpreter with what it needs to start, and nothing else of the host.

Everything is copied: the box then sees no host folder, an upgrade of the host changes no environment that results
depend on, and an interpreter below a private home folder works as well as the system's.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.sandbox.packages import run_step
from evaluator.sandbox.types import SandboxError

LIBRARIES: Final = "usr/lib/lmr-board"
"""Where shared libraries lie in the root, flat; boxes name it in ``LD_LIBRARY_PATH``."""

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
class Interpreter:
    """What the host's interpreter says of itself. ``packages`` is where it looks for packages when it lives in /usr."""

    executable: Path
    prefix: Path
    stdlib: Path
    packages: str
    version: str
    binary_digest: str

    @classmethod
    def of(cls, python: Path) -> Interpreter:
        """Ask ``python``. Raises :class:`SandboxError` when it does not answer."""
        facts = json.loads(run_step([str(python), "-I", "-c", _PROBE], f"asking {python} for its version"))
        executable = Path(facts["executable"])
        return cls(
            executable=executable,
            prefix=Path(facts["prefix"]),
            stdlib=Path(facts["stdlib"]),
            packages=facts["packages"],
            version=facts["version"],
            binary_digest=hashlib.sha256(executable.read_bytes()).hexdigest(),
        )


def copy_interpreter(interpreter: Interpreter, root: Path) -> Path:
    """Copy binary and standard library below ``root/usr``; return the binary's place there.

    Raises:
        SandboxError: the standard library lies outside the interpreter's prefix.
    """
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
    return binary


def copy_libraries(interpreter: Interpreter, root: Path) -> None:
    """Copy the loader and every shared library that a binary in ``root`` links to, unless it is in there itself."""
    binaries = [interpreter.executable, *sorted(path for path in root.rglob("*.so*") if path.is_file())]
    # ldd ends with 1 when one file of a package is no dynamic library, and tells of the others all the same.
    output = run_step(["ldd", *map(str, binaries)], "reading the libraries that Python needs (ldd)", allowed=(0, 1))
    for loader in sorted(set(_LDD_LOADER.findall(output))):
        place = root / loader.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(loader, place)
    flat = root / LIBRARIES
    flat.mkdir(parents=True, exist_ok=True)
    for name, path in sorted(set(_LDD_ARROW.findall(output)) | set(_opened_later(output))):
        if not Path(path).is_relative_to(root):
            shutil.copy2(path, flat / name)


def _opened_later(ldd_output: str) -> Iterable[tuple[str, str]]:
    """Libraries that libc opens at run time: libgcc unwinds the stack when a thread is cancelled."""
    for name, path in _LDD_ARROW.findall(ldd_output):
        beside = Path(path).with_name("libgcc_s.so.1")
        if name.startswith("libc.so") and beside.is_file():
            yield beside.name, str(beside)


def compile_bytecode(interpreter: Interpreter, root: Path) -> None:
    """Compile every module now, since the box can write nowhere. A module of another Python's syntax is passed over."""
    command = [str(interpreter.executable), "-I", "-m", "compileall", "-q", "-j", "0", "-s", str(root), "-p", "/"]
    command += ["-x", r"lib2to3|/tests?/data|bad_coding", str(root / "usr")]
    # 1 means that some module has the syntax of another version: packages ship such, and import them nowhere.
    run_step(command, "compiling the environment's modules", allowed=(0, 1))


def open_to_all(root: Path, *, files: bool) -> None:
    """Let everybody pass and, with ``files``, read and nobody write them.

    Folders stay writable to their owner, who may want to delete.
    """
    root.chmod(0o755)
    for path in root.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
        elif files:
            path.chmod(0o555 if path.stat().st_mode & 0o111 else 0o444)
