"""Hash folders on the host, link them, and make them readable for the users that boxes run as."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from evaluator.sandbox.interface import BoxSpec, Mount, SandboxError

_READ: Final = 0o004
_PASS: Final = 0o001
_SET_IDS: Final = stat.S_ISUID | stat.S_ISGID
_MODULES: Final = (".py", ".pyc", ".so")
_SHARED_STATE: Final = Path("/var/lib/lmr-board")


def reachable_state_dir(state_dir: Path, *, shared: Path = _SHARED_STATE) -> Path:
    """Return ``state_dir`` itself when every user may pass through its parents, else ``shared``.

    All instances may use ``shared`` at once: environments are named by their content, boxes by their owner. It is not
    below /var/tmp, where old files are deleted one by one: half an environment would make candidates fail.

    Raises:
        SandboxError: neither can be used.
    """
    state_dir = state_dir.resolve()
    state_dir.mkdir(parents=True, exist_ok=True)
    if _all_may_pass(state_dir.parent):
        return state_dir
    try:
        shared.mkdir(parents=True, exist_ok=True)
        if shared.is_symlink() or shared.stat().st_uid != os.geteuid() or not _all_may_pass(shared.parent):
            raise SandboxError(f"{shared} belongs to another user or is not reachable: choose another state folder")
        shared.chmod(0o711)
    except OSError as error:
        raise SandboxError(
            f"{state_dir} lies below a private folder, and {shared} cannot be made ({error}): "
            "choose a state folder that other users may pass through"
        ) from error
    return shared


def readable_mounts(spec: BoxSpec, folder: Path) -> BoxSpec:
    """Return ``spec`` with a copy in ``folder`` for every source that not all users can read.

    Links are kept: inside the box they point to the box's files, never to the host's.

    Raises:
        SandboxError: a source is missing, or contains something other than files, folders and links.
    """
    staged = [_staged(mount, folder / str(index), spec.label) for index, mount in enumerate(spec.mounts)]
    return replace(spec, mounts=tuple(map(Mount, staged, (mount.target for mount in spec.mounts))))


def checked_source(mount: Mount, label: str) -> tuple[Path, dict[Path, int]]:
    """Return the resolved source of ``mount``, and the modes of it and everything below.

    Raises:
        SandboxError: it is missing, or contains something other than files, folders and links.
    """
    try:
        source = mount.source.resolve(strict=True)
        modes = dict(_modes(source))
    except OSError as error:
        raise SandboxError(
            f"box {label}: {mount.source}, to be mounted at {mount.target}, is not there: {error}"
        ) from error
    _refuse_special_files(modes, label)
    return source, modes


def _staged(mount: Mount, copy: Path, label: str) -> Path:
    source, modes = checked_source(mount, label)
    if _all_may_pass(source.parent) and all(_all_may_read(mode) for mode in modes.values()):
        return source
    copy.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, copy, symlinks=True)
    else:
        shutil.copyfile(source, copy)
    for path, mode in _modes(copy):
        if not stat.S_ISLNK(mode):
            path.chmod(0o755 if stat.S_ISDIR(mode) else 0o644)
    return copy


def _modes(source: Path) -> Iterator[tuple[Path, int]]:
    yield source, source.lstat().st_mode
    if source.is_dir():
        for path in source.rglob("*"):
            yield path, path.lstat().st_mode


def _refuse_special_files(modes: dict[Path, int], label: str) -> None:
    for path, mode in modes.items():
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
            raise SandboxError(
                f"box {label}: {path} is a {stat.filemode(mode)[0]!r} file; only plain files may be mounted"
            )


def _all_may_pass(folder: Path) -> bool:
    return all(parent.stat().st_mode & _PASS for parent in (folder, *folder.parents))


def _all_may_read(mode: int) -> bool:
    if stat.S_ISDIR(mode):
        return mode & (_READ | _PASS) == _READ | _PASS
    return stat.S_ISLNK(mode) or bool(mode & _READ)


def tree_digest(root: Path) -> str:
    """Return SHA-256 over names and contents of all files below ``root`` except compiled modules, sorted by name.

    For a symbolic link the target's name counts, as it may only be valid inside a box.
    """
    total = hashlib.sha256()
    for path, status in entries(root):
        if path.suffix == ".pyc" or stat.S_ISDIR(status.st_mode):
            continue
        if stat.S_ISLNK(status.st_mode):
            content = f"-> {path.readlink()}"
        else:
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{path.relative_to(root)}\0{content}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def link_tree(source: Path, target: Path, *, bytecode: bool) -> None:
    """Fill ``target`` with the content of ``source``, by hard links, or by copies where linking fails.

    Sockets, pipes and devices are left out, and compiled modules unless ``bytecode``. All users can enter every folder
    and read every file, and no file keeps a set-user bit, since other users of this machine may pass through
    ``target``. Files in it must be replaced, never written to: a link is the source's file too. Raises
    :class:`OSError`.
    """
    target.mkdir(parents=True, exist_ok=True)
    target.chmod(0o755)
    for path, status in entries(source):
        place = target / path.relative_to(source)
        if stat.S_ISDIR(status.st_mode):
            place.mkdir(exist_ok=True)
            place.chmod(0o755)
        elif stat.S_ISLNK(status.st_mode):
            place.symlink_to(path.readlink())
        elif stat.S_ISREG(status.st_mode) and (bytecode or path.suffix != ".pyc"):
            if status.st_mode & _READ and not status.st_mode & _SET_IDS:
                _link_or_copy(path, place)
            else:
                shutil.copyfile(path, place)
                shutil.copystat(path, place)
                place.chmod(0o555 if status.st_mode & 0o111 else 0o444)


def module_names(sources: tuple[Path, ...]) -> set[str]:
    """Return the names under which Python may import modules from ``sources`` and the folders below.

    Modules inside a package are imported by the package's name, so only modules beside packages count.
    """
    names: set[str] = set()
    for source in sources:
        if source.is_file():
            names.add(source.name.partition(".")[0])
        for folder, folders, files in os.walk(source):
            if "__init__.py" not in files or Path(folder) == source:
                names |= {file.partition(".")[0] for file in files if file.endswith(_MODULES)} | set(folders)
    return names


def entries(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything below ``root`` sorted by name, folders before their content; links are not followed."""
    with os.scandir(root) as found:
        inside = sorted(found, key=lambda entry: entry.name)
    for entry in inside:
        status = entry.stat(follow_symlinks=False)
        yield Path(entry.path), status
        if stat.S_ISDIR(status.st_mode):
            yield from entries(Path(entry.path))


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        # Another file system, too many links, or the kernel's protection of other users' files.
        shutil.copy2(source, target)
