"""Which environment a task is measured in, and what each is made from: the operator's ``environments.toml``.

::

    [environments.torch-cpu]
    packages = "/srv/lmr-board/torch"    # a folder that pip filled: pip install --target …   (or)
    requirements = "torch.txt"           # a hash-locked list that the site installs itself   (or)
    rootfs = "/srv/rootfs/torch"         # bubblewrap: the root file system of an image
    image = "name@sha256:…"              # Docker: the image to use instead of one built from the above
    memory_mb = 4096
    wall_seconds = 600

    [tasks]
    "lmr-bench/*" = "torch-cpu"

Relative paths start at the file's own folder. An environment that the file does not name comes from a list of ours
(``requirements/box-<name>.txt``), or from a paper's Dockerfile (``paper-…``, see ``manage.py build_images``).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NoReturn

from evaluator.sandbox.packages import REQUIREMENTS
from evaluator.sandbox.settings import check_environment_name
from evaluator.sandbox.types import SandboxError

IMAGE_PREFIX: Final = "lmr-board-box-"
"""Docker images of environments are called so, followed by the environment's name."""

PAPER_NAME: Final = re.compile(r"paper-[0-9a-f]{12}")
"""The environments that are built from papers' Dockerfiles."""

_SOURCES: Final = ("packages", "requirements", "rootfs")
_LEAST_MEMORY_MB: Final = 64
_LONGEST_SECONDS: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class EnvironmentEntry:
    """What the environment ``name`` is made from, and what its boxes may use where the task does not say.

    At most one of ``packages`` (folder), ``requirements`` (file) and ``rootfs`` (folder) is set. ``image`` is the
    Docker image that the operator names, else empty. A paper's environment has none of them.
    """

    name: str
    image: str = ""
    requirements: Path | None = None
    packages: Path | None = None
    rootfs: Path | None = None
    memory_mb: int | None = None
    wall_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class EnvironmentList:
    """The operator's entries and task patterns. Hashable: two equal lists make the same sandbox."""

    entries: tuple[EnvironmentEntry, ...] = ()
    tasks: tuple[tuple[str, str], ...] = ()
    numpy_image: str = ""
    requirements: Path = REQUIREMENTS

    def entry(self, name: str) -> EnvironmentEntry:
        """The operator's entry, else the shipped list's, else a paper's. Raises :class:`SandboxError` otherwise."""
        check_environment_name(name)
        for entry in self.entries:
            if entry.name == name:
                return entry
        lock = self.requirements / f"box-{name}.txt"
        if lock.is_file():
            return EnvironmentEntry(name, requirements=lock)
        if PAPER_NAME.fullmatch(name):
            return EnvironmentEntry(name)
        raise SandboxError(
            f"environment {name!r}: {lock} does not exist; known environments: {self.names()}. "
            f"Name it under [environments.{name}] in the file that ENVIRONMENTS_FILE names (docs/operating.md)"
        )

    def image(self, name: str) -> str:
        """The Docker image of the environment ``name``, by the operator's reference or by our own name."""
        named = self.entry(name).image
        if named:
            return named
        if name == "numpy" and self.numpy_image:
            return self.numpy_image
        return f"{IMAGE_PREFIX}{name}"

    def environment_for(self, task: str) -> str | None:
        """The environment that the first matching pattern gives ``task`` (``<suite>/<paper>/<index>``), if any."""
        return next((name for pattern, name in self.tasks if fnmatchcase(task, pattern)), None)

    def names(self) -> list[str]:
        """The operator's environments and the shipped ones, sorted."""
        shipped = {path.stem.removeprefix("box-") for path in self.requirements.glob("box-*.txt")}
        return sorted(shipped | {entry.name for entry in self.entries})

    def with_numpy_image(self, image: str) -> EnvironmentList:
        """The same list, with ``image`` as the one of ``numpy`` unless the operator's entry names another."""
        return replace(self, numpy_image=image)


SHIPPED: Final = EnvironmentList()
"""The list of an operator who has none."""


def read_environment_list(path: Path | None) -> EnvironmentList:
    """Read the operator's file; without one only the shipped environments and the papers' are known.

    Raises:
        SandboxError: the file cannot be read or says something that cannot be: where, and what to do.
    """
    return _File(path).read() if path is not None else SHIPPED


class _File:
    """One ``environments.toml``, read strictly."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SandboxError(f"ENVIRONMENTS_FILE: {path} cannot be read as text: {error}") from error

    def read(self) -> EnvironmentList:
        try:
            content = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise SandboxError(f"{self.path} is not TOML: {error}") from error
        self._known_keys(content, ("environments", "tasks"), header="", where="the file")
        environments = self._table(content, "environments")
        found = EnvironmentList(tuple(self._entry(name, table) for name, table in environments.items()))
        return replace(found, tasks=self._tasks(self._table(content, "tasks"), found))

    def _table(self, content: dict[str, object], key: str) -> dict[str, object]:
        table = content.get(key, {})
        if not isinstance(table, dict):
            self._refuse("", key, f"{key} must be a table: [{key}]")
        return table

    def _entry(self, name: str, table: object) -> EnvironmentEntry:
        header = f"environments.{name}"
        try:
            check_environment_name(name)
        except SandboxError as error:
            self._refuse(header, "", str(error))
        if PAPER_NAME.fullmatch(name):
            self._refuse(header, "", f"{name!r} is the name of a paper's own environment: choose another name")
        if not isinstance(table, dict):
            self._refuse("environments", name, f"{name} must be a table: [{header}]")
        self._known_keys(table, (*_SOURCES, "image", "memory_mb", "wall_seconds"), header=header, where=f"[{header}]")
        named = [key for key in _SOURCES if key in table]
        if len(named) > 1:
            self._refuse(header, named[1], f"[{header}] has {' and '.join(named)}: keep one of them")
        if not named and "image" not in table:
            self._refuse(
                header, "", f"[{header}] says nothing of what it is made from: give one of {_SOURCES} or image"
            )
        return EnvironmentEntry(
            name=name,
            image=self._image(header, table),
            requirements=self._place(header, table, "requirements", folder=False),
            packages=self._place(header, table, "packages", folder=True),
            rootfs=self._place(header, table, "rootfs", folder=True),
            memory_mb=self._whole(header, table, "memory_mb", least=_LEAST_MEMORY_MB, unit="megabytes"),
            wall_seconds=self._whole(header, table, "wall_seconds", least=1, most=_LONGEST_SECONDS, unit="seconds"),
        )

    def _image(self, header: str, table: dict[str, object]) -> str:
        image = table.get("image", "")
        if not isinstance(image, str) or ("image" in table and not re.fullmatch(r"[A-Za-z0-9][^\s]*", image)):
            self._refuse(header, "image", f"image must be an image's name in quotes, not {image!r}")
        return image

    def _place(self, header: str, table: dict[str, object], key: str, *, folder: bool) -> Path | None:
        if key not in table:
            return None
        value = table[key]
        if not isinstance(value, str) or not value or "\0" in value:
            self._refuse(header, key, f"{key} must be a path in quotes, not {value!r}")
        place = self.path.resolve().parent / Path(value).expanduser()
        if not (place.is_dir() if folder else place.is_file()):
            kind = "folder" if folder else "file"
            self._refuse(header, key, f"the {kind} {place} does not exist: make it, or correct {key}")
        return place

    def _whole(
        self, header: str, table: dict[str, object], key: str, *, least: int, unit: str, most: int = 2**31
    ) -> int | None:
        if key not in table:
            return None
        value = table[key]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._refuse(header, key, f"{key} must be a whole number of {unit} from {least} to {most}, not {value!r}")
        return value

    def _tasks(self, table: dict[str, object], found: EnvironmentList) -> tuple[tuple[str, str], ...]:
        known = found.names()
        for pattern, name in table.items():
            if not isinstance(name, str):
                self._refuse("tasks", pattern, f"the environment of {pattern!r} must be a name in quotes, not {name!r}")
            if name not in known:
                hint = _similar(name, known)
                self._refuse("tasks", pattern, f"{pattern!r} asks for the unknown environment {name!r}{hint}")
        return tuple((pattern, str(name)) for pattern, name in table.items())

    def _known_keys(self, table: dict[str, object], known: tuple[str, ...], *, header: str, where: str) -> None:
        for key in table:
            if key not in known:
                self._refuse(header, key, f"{where} has the unknown key {key!r}{_similar(key, known)}")

    def _refuse(self, header: str, key: str, what: str) -> NoReturn:
        line = _line_of(self.text, header, key)
        raise SandboxError(f"{self.path}{f', line {line}' if line else ''}: {what}")


def _similar(word: str, known: tuple[str, ...] | list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f": is {close[0]!r} meant?" if close else f": there are {', '.join(known)}"


def _line_of(text: str, header: str, key: str) -> int | None:
    """The line of ``key`` below ``[header]``, else the header's, else none: TOML's reader tells no places."""
    place = None
    inside = not header
    for number, line in enumerate(text.splitlines(), start=1):
        heading = re.match(r"\s*\[+\s*([^\]]*?)\s*\]", line)
        if heading:
            name = heading[1].replace('"', "").replace("'", "").replace(" ", "")
            inside = name == header
            if inside or f"{name}.".startswith(f"{header}.{key}".strip(".") + "."):
                place = place or number
        elif inside and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return number
    return place
