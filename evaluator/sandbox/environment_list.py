"""Map tasks to environments, and describe what each is made from: the operator's ``environments.toml``.

::

    [environments.torch-cpu]
    requirements = "torch.txt"           # a hash-locked list that the site installs itself, and for Docker
    image = "name@sha256:…"              # an image to use instead of one that the site builds from the list
    imports = ["torch"]                  # what its boxes import before an answer comes, besides NumPy
    imports_mb = 160                     # extra memory for those boxes, which share it with the importing process
    memory_mb = 4096
    wall_seconds = 600
    network = "loopback"                 # its boxes may use TCP and UDP within themselves

    [tasks]
    "lmr-bench/*" = "torch-cpu"

Relative paths start at the file's own folder. Environments that the file does not name come from a shipped list
(``requirements/box-<name>.txt``), or from a paper's Dockerfile (``paper-…``, see ``manage.py build_images``).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from evaluator.sandbox.interface import SandboxError

IMAGE_PREFIX: Final = "lmr-board-box-"
"""Prefix of environments' Docker images, followed by the environment's name."""

PAPER_NAME: Final = re.compile(r"paper-[0-9a-f]{12}")
"""Names of environments that are built from papers' Dockerfiles."""

REQUIREMENTS: Final = Path(__file__).resolve().parents[2] / "requirements"

_MODULE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,31})")
_NUMBERS: Final = {"imports_mb": (0, 2**20), "memory_mb": (64, 2**31), "wall_seconds": (1, 24 * 3600)}
"""Keys whose values are integers, with their minimum and maximum."""

_NETWORKS: Final = ("none", "loopback")


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """Facts about a shipped environment: sizes in MB, and how long it takes to make on two processors.

    ``imports`` are modules that its boxes may import before an answer comes, ``imports_mb`` the extra memory that they
    take in such a box.
    """

    about: str
    download_mb: int
    disk_mb: int
    seconds: int
    imports: tuple[str, ...]
    imports_mb: int

    def __str__(self) -> str:
        return f"{self.about}: {self.download_mb} MB to download, {self.disk_mb} MB on disk, about {self.seconds} s"


@cache
def environment_facts() -> dict[str, EnvironmentFacts]:
    """Return the shipped environments by name."""
    tables = tomllib.loads((REQUIREMENTS / "environments.toml").read_text(encoding="utf-8"))
    return {name: EnvironmentFacts(**{**table, "imports": tuple(table["imports"])}) for name, table in tables.items()}


@dataclass(frozen=True, slots=True)
class EnvironmentEntry:
    """What the environment ``name`` is made from, and its boxes' limits where the task sets none.

    ``requirements`` is a hash-locked file, ``image`` the Docker image that the operator names. A paper's environment
    has neither. ``imports`` and ``imports_mb`` are as in :class:`EnvironmentFacts`. ``network`` is ``none``, or
    ``loopback`` for boxes whose programs communicate by TCP or UDP.
    """

    name: str
    image: str = ""
    requirements: Path | None = None
    imports: tuple[str, ...] = ()
    imports_mb: int = 0
    memory_mb: int | None = None
    wall_seconds: float | None = None
    network: str = "none"

    @property
    def loopback(self) -> bool:
        """Whether its boxes may use TCP and UDP within themselves."""
        return self.network == "loopback"


@dataclass(frozen=True, slots=True)
class EnvironmentList:
    """The operator's entries and task patterns. Hashable: equal lists give the same sandbox."""

    entries: tuple[EnvironmentEntry, ...] = ()
    tasks: tuple[tuple[str, str], ...] = ()
    numpy_image: str = ""

    def entry(self, name: str) -> EnvironmentEntry:
        """Return the operator's entry, else the shipped list's, else a paper's. Raises :class:`SandboxError`."""
        check_environment_name(name)
        for entry in self.entries:
            if entry.name == name:
                return entry
        lock = REQUIREMENTS / f"box-{name}.txt"
        if lock.is_file():
            facts = environment_facts()[name]
            return EnvironmentEntry(name, requirements=lock, imports=facts.imports, imports_mb=facts.imports_mb)
        if PAPER_NAME.fullmatch(name):
            return EnvironmentEntry(name)
        raise SandboxError(
            f"environment {name!r}: {lock} does not exist; known environments: {self.names()}. "
            f"Name it under [environments.{name}] in the file that ENVIRONMENTS_FILE names (docs/operating.md)"
        )

    def image(self, name: str) -> str:
        """Return the Docker image of the environment ``name``: the operator's reference or the site's own name."""
        default = (name == "numpy" and self.numpy_image) or f"{IMAGE_PREFIX}{name}"
        return self.entry(name).image or default

    def environment_for(self, task: str) -> str | None:
        """Return the environment of the first pattern that matches ``task`` (``<suite>/<paper>/<index>``), if any."""
        return next((name for pattern, name in self.tasks if fnmatchcase(task, pattern)), None)

    def names(self) -> list[str]:
        """Return the operator's and the shipped environments, sorted."""
        shipped = {path.stem.removeprefix("box-") for path in REQUIREMENTS.glob("box-*.txt")}
        return sorted(shipped | {entry.name for entry in self.entries})

    def with_numpy_image(self, image: str) -> EnvironmentList:
        """Return the list with ``image`` as the one of ``numpy``, unless the operator's entry names another."""
        return replace(self, numpy_image=image)


def check_environment_name(environment: str) -> None:
    """Raise :class:`SandboxError` unless ``environment`` can be part of a file name."""
    if not _NAME.fullmatch(environment):
        raise SandboxError(f"environment {environment!r}: a name has only lower-case letters, digits and hyphens")


SHIPPED: Final = EnvironmentList()
"""The list without an operator's file."""


def read_environment_list(path: Path | None) -> EnvironmentList:
    """Read the operator's file; without one only shipped and papers' environments are known.

    Raises:
        SandboxError: the file cannot be read or has a mistake; the message gives table, key and remedy.
    """
    if path is None:
        return SHIPPED
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        _require_known(content, ("environments", "tasks"), "the file")
        tables = _table(content.get("environments", {}), "[environments]")
        found = EnvironmentList(tuple(_entry(name, table, path.resolve().parent) for name, table in tables.items()))
        tasks = _table(content.get("tasks", {}), "[tasks]")
        for pattern, name in tasks.items():
            if name not in found.names():
                raise SandboxError(f"[tasks] {pattern!r} names the unknown environment {name!r}")  # noqa: TRY301
        return replace(found, tasks=tuple(tasks.items()))
    except (OSError, UnicodeDecodeError) as error:
        raise SandboxError(f"ENVIRONMENTS_FILE: {path} cannot be read as text: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SandboxError(f"{path} is not TOML: {error}") from error
    except SandboxError as error:
        raise SandboxError(f"{path}: {error}") from None


def _entry(name: str, value: object, folder: Path) -> EnvironmentEntry:
    where = f"[environments.{name}]"
    check_environment_name(name)
    if PAPER_NAME.fullmatch(name):
        raise SandboxError(f"{where}: this is the name of a paper's own environment: choose another name")
    table = _table(value, where)
    _require_known(table, ("requirements", "image", "imports", "network", *_NUMBERS), where)
    if "requirements" not in table and "image" not in table:
        raise SandboxError(f"{where} does not define what it is made from: give requirements or image")
    for key, (least, most) in _NUMBERS.items():
        number = table.get(key, least)
        if type(number) is not int or not least <= number <= most:
            raise SandboxError(f"{where} {key} must be a whole number from {least} to {most}, not {number!r}")
    for key in ("requirements", "image"):
        text = table.get(key, "x")
        if not isinstance(text, str) or not text or "\0" in text or (key == "image" and re.search(r"\s|^-", text)):
            raise SandboxError(f"{where} {key} must be a name or path in quotes, not {text!r}")
    if table.get("network", "none") not in _NETWORKS:
        raise SandboxError(f'{where} network must be "none" or "loopback", not {table["network"]!r}')
    imports = table.get("imports", [])
    if not isinstance(imports, list) or not all(isinstance(name, str) and _MODULE.fullmatch(name) for name in imports):
        raise SandboxError(f'{where} imports must be a list of modules such as ["torch"], not {imports!r}')
    requirements = folder / Path(table["requirements"]).expanduser() if "requirements" in table else None
    if requirements is not None and not requirements.is_file():
        raise SandboxError(f"{where} the file {requirements} does not exist: make it, or correct requirements")
    return EnvironmentEntry(**{**table, "name": name, "requirements": requirements, "imports": tuple(imports)})


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SandboxError(f"{where} must be a table")
    return value


def _require_known(table: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"is {close[0]!r} meant?" if close else f"there are {', '.join(known)}"
            raise SandboxError(f"{where} has the unknown key {key!r}: {hint}")
