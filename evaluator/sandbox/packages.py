"""Installs what a hash-locked requirements file names into a plain folder; the site's own environment is never used."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from evaluator.sandbox.types import SandboxError

REQUIREMENTS: Final = Path(__file__).resolve().parents[2] / "requirements"
_INSTALL_SECONDS: Final = 900
_SHOWN_CHARACTERS: Final = 1500
NOT_INSTALLED: Final = "the packages of the boxes' environment could not be installed"
"""What visitors read of it: an index or a proxy has a name of this machine's network."""


def install(lock: Path, *, target: Path, python: Path, python_version: str | None = None) -> None:
    """Install ``lock`` into ``target`` for the interpreter ``python``, wheels only, every hash checked.

    Args:
        lock: a requirements file in which every line has its hashes.
        target: the folder that will hold the packages; it is made.
        python: the interpreter that will import them.
        python_version: ``3.11`` to install for another version than that of ``python`` (uv only).

    Raises:
        SandboxError: nothing can install here, or the installation failed; with the end of its output.
    """
    options = ["--quiet", "--target", str(target), "--only-binary", ":all:", "--require-hashes", "-r", str(lock)]
    uv = [sys.executable, "-m", "uv", "pip", "install", "--python", str(python), "--link-mode", "copy", *options]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-compile", *options]
    has_pip = importlib.util.find_spec("pip") is not None and python_version is None
    has_uv = importlib.util.find_spec("uv") is not None
    if not has_uv and not has_pip:
        raise SandboxError(f"{lock.name} cannot be installed: install uv into the site's environment (make setup)")
    uv += ["--python-version", python_version] if python_version else []
    # pip is slower than uv, but knows mirrors and certificates that only pip's own configuration names.
    tools = [tool for tool, is_there in ((uv, has_uv), (pip, has_pip)) if is_there]
    failures = []
    for tool in tools:
        shutil.rmtree(target, ignore_errors=True)
        try:
            run_step(tool, f"installing {lock} with {tool[2]}")
        except SandboxError as error:
            failures.append(str(error))
        else:
            return
    raise SandboxError("\n".join(failures), public=NOT_INSTALLED)


def run_step(command: list[str], what: str, *, allowed: tuple[int, ...] = (0,)) -> str:
    """Run one step of a build that we trust; return its output. Raises :class:`SandboxError` with the output's end."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
            check=False,
            env=_clean_environment(),
            umask=0o022,  # what is built is for the boxes' user
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{what} failed: {error}") from error
    if done.returncode not in allowed:
        output = (done.stdout + done.stderr).strip()[-_SHOWN_CHARACTERS:]
        raise SandboxError(f"{what} failed with exit code {done.returncode}: {output}")
    return done.stdout


def _clean_environment() -> dict[str, str]:
    """Ours without what would make another interpreter load the site's own packages."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME"}}
