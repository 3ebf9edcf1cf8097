"""The root file system of an image, looked at from outside: nothing in it is run, and its links are not trusted."""

from __future__ import annotations

import posixpath
import stat
from pathlib import Path
from typing import Final

from evaluator.sandbox.types import SandboxError

USUAL_PATH: Final = "/opt/conda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MOST_LINKS: Final = 40


def find_python(root: Path, path: str = "") -> str:
    """Where ``python3`` (or ``python``) is for a program that runs below ``root``, such as ``/opt/conda/bin/python3``.

    Args:
        root: the folder that will be ``/``.
        path: folders separated by colons, looked through in order; by default the usual ones.

    Raises:
        SandboxError: there is none.
    """
    folders = [folder for folder in (path or USUAL_PATH).split(":") if folder.startswith("/")]
    for folder in folders:
        for name in ("python3", "python"):
            place = posixpath.join(folder, name)
            found = resolve(root, place)
            if found is not None and stat.S_ISREG(found.stat().st_mode) and found.stat().st_mode & 0o001:
                return place
    raise SandboxError(f"{root} holds no python3 that everybody may run in {':'.join(folders)}")


def resolve(root: Path, place: str) -> Path | None:
    """The file that ``place`` means when ``root`` is ``/``: links are followed inside. ``None`` when there is none."""
    parts = [part for part in place.split("/") if part]
    reached: list[str] = []
    links = 0
    while parts:
        part = parts.pop(0)
        if part in {".", ".."}:
            reached = reached[:-1] if part == ".." else reached
            continue
        here = root.joinpath(*reached, part)
        if here.is_symlink():
            links += 1
            if links > _MOST_LINKS:
                return None
            target = str(here.readlink())
            reached = [] if target.startswith("/") else reached
            parts = [piece for piece in target.split("/") if piece] + parts
        elif not here.exists():
            return None
        else:
            reached.append(part)
    return root.joinpath(*reached)
