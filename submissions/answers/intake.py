"""What an archive reader may take in: the limits, the rules for names, and the list of everything refused.

The zip and tar readers both feed one :class:`Intake`, so that a rule is written once for both. No Django here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from submissions.answers.protection import MAX_PATH_DEPTH, MAX_PATH_LENGTH
from submissions.answers.types import BundleError, Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

_MEGABYTE = 1024 * 1024
_ALLOWED_SUFFIXES = frozenset({".json", ".diff", ".patch", ".py", ".jsonl", ".txt", ".md", ".log"})
_TRAJECTORY_SUFFIXES = frozenset({".json", ".jsonl", ".txt", ".log"})
TRAJECTORY_FOLDER = "trajectory"
_SETTLED_NAMES = frozenset({"submission.json", "usage.json"})
_DRIVE_LETTER = re.compile(r"[A-Za-z]:")
_SHOWN_NAME = 120


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What reading one upload may cost. Sizes are bytes.

    28 tasks x 10 trials x 3 files are 840 members; a folder as trajectory has one for each event. ``entries`` also
    counts folders and what macOS adds beside each file. The ratio is held over the whole archive, above a floor that
    small, repetitive logs need.
    """

    upload: int = 20 * _MEGABYTE
    total: int = 50 * _MEGABYTE
    member: int = _MEGABYTE
    trajectory: int = 8 * _MEGABYTE
    members: int = 6000
    entries: int = 8000
    ratio: int = 100
    ratio_floor: int = _MEGABYTE
    path: int = MAX_PATH_LENGTH
    depth: int = MAX_PATH_DEPTH
    problems: int = 100


@dataclass(frozen=True, slots=True)
class Member:
    """One regular file of an archive, its name with forward slashes."""

    name: str
    content: bytes


def readable(size: int) -> str:
    """A size in bytes as people write it: ``1 GB``, ``20 MB``, ``64 KB``, ``12 bytes``."""
    if size >= 1024 * _MEGABYTE:
        return f"{size / (1024 * _MEGABYTE):.3g} GB"
    if size >= _MEGABYTE:
        return f"{size / _MEGABYTE:.3g} MB"
    return f"{size // 1024} KB" if size >= 1024 else f"{size} bytes"


def shown_name(raw: bytes) -> str:
    """A foreign name, printable and short enough for a message."""
    text = "".join(c if " " <= c <= "~" else f"\\x{ord(c):02x}" for c in raw[: _SHOWN_NAME + 1].decode("latin-1"))
    return text if len(text) <= _SHOWN_NAME else text[:_SHOWN_NAME] + "..."


def refuse(message: str, *, file: str = "", task: str = "", line: int | None = None) -> Problem:
    """A problem that stops the whole bundle."""
    return Problem(severity=Severity.REFUSE, message=message, task=task, file=file, line=line)


class ProblemList:
    """Collects problems up to a bound, so that a hostile bundle cannot make a page of a million lines."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self.kept: list[Problem] = []
        self.left_out = 0

    def __bool__(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.kept)

    def add(self, problem: Problem) -> None:
        """Keep ``problem``, or count it as left out when the bound is reached."""
        if len(self.kept) < self._bound:
            self.kept.append(problem)
        else:
            self.left_out += 1

    def extend(self, problems: Iterable[Problem]) -> None:
        """Keep all of ``problems`` that the bound allows."""
        for problem in problems:
            self.add(problem)

    def all(self) -> list[Problem]:
        """Every problem kept, with a last line that says how many more there were."""
        if not self.left_out:
            return list(self.kept)
        more = "1 more problem is" if self.left_out == 1 else f"{self.left_out} more problems are"
        return [*self.kept, refuse(f"{more} not listed; correct these first.")]


class Intake:
    """Takes in the entries of one archive, in order, within the limits. What is wrong goes to ``problems``."""

    def __init__(self, limits: ArchiveLimits, problems: ProblemList, *, compressed_size: int) -> None:
        self.limits = limits
        self.problems = problems
        self.passed_over: list[str] = []
        self._refused: set[str] = set()
        self._members: list[Member] = []
        self._entries = 0
        self._bytes = 0
        self._bytes_allowed = min(limits.total, max(limits.ratio_floor, limits.ratio * compressed_size))
        self._seen: dict[str, str] = {}
        self._folders: set[str] = set()

    def fatal(self, message: str, *, file: str = "") -> NoReturn:
        """Give up reading: raise BundleError with every earlier problem and this one last."""
        raise BundleError([*self.problems.all(), refuse(message, file=file)])

    def count_entry(self) -> None:
        """Count one entry of any kind; raises BundleError when there are too many to go on."""
        self._entries += 1
        if self._entries > self.limits.entries:
            self.fatal(f"The archive has more than {self.limits.entries} entries; send only the answers.")

    def spend(self, size: int) -> None:
        """Count ``size`` unpacked bytes; raises BundleError when total or ratio are passed."""
        self._bytes += size
        if self._bytes > self._bytes_allowed:
            self.fatal(
                f"The archive unpacks to more than {readable(self._bytes_allowed)} (limits: "
                f"{readable(self.limits.total)} in all, {self.limits.ratio} times its packed size); "
                "leave out or shorten trajectories."
            )

    def folder(self, raw_name: bytes) -> None:
        """Check a folder entry's name; folders are otherwise ignored."""
        self.count_entry()
        name = self._safe_name(raw_name.rstrip(b"/"))
        if name is not None:
            self._register_folders(name + "/")

    def file(self, raw_name: bytes) -> str | None:
        """Check a regular file's name. None: skip its data (it is clutter, or a problem was noted)."""
        self.count_entry()
        name = self._safe_name(raw_name)
        if name is None:
            return None
        if not self._is_new(name):
            return None
        suffix = name[name.rfind(".") :].lower() if "." in name.rsplit("/", 1)[-1] else ""
        if suffix not in _ALLOWED_SUFFIXES and f"/{TRAJECTORY_FOLDER}/" in name.lower():
            # Agents keep more than text beside their events, such as pickled state.
            self.passed_over.append(name)
            return None
        if suffix not in _ALLOWED_SUFFIXES:
            allowed = " ".join(sorted(_ALLOWED_SUFFIXES))
            self._leave_out(name, f"Files of this kind are not accepted (allowed: {allowed}).")
            return None
        return name

    def special(self, raw_name: bytes, kind: str) -> None:
        """Note an entry that is neither a regular file nor a folder (``kind`` says what)."""
        self.count_entry()
        if not _is_clutter(raw_name):
            self._note(raw_name, f"This is a {kind}; only regular files are accepted.")

    def cap(self, name: str) -> int:
        """How many bytes the member ``name`` may have: trajectories may be longer than answers."""
        base = name.rsplit("/", 1)[-1].lower()
        is_trajectory = base not in _SETTLED_NAMES and base[base.rfind(".") :] in _TRAJECTORY_SUFFIXES
        return self.limits.trajectory if is_trajectory else self.limits.member

    def too_big(self, name: str) -> None:
        """Note a member that is longer than its cap."""
        self._leave_out(name, f"The file is larger than {readable(self.cap(name))}.")

    def keep(self, name: str, content: bytes) -> None:
        """Keep a member; raises BundleError when there are too many."""
        if len(self._members) >= self.limits.members:
            self.fatal(f"The archive holds more than {self.limits.members} files; send fewer trials or fewer extras.")
        self._members.append(Member(name=name, content=content))

    def finish(self) -> tuple[tuple[Member, ...], frozenset[str]]:
        """The members, sorted by name, and the names that were left out with a problem; the wrapper folder removed.

        Raises BundleError for an archive without any file.
        """
        if not self._members and not self.problems:
            self.fatal("The archive holds no files.")
        wrapper = _wrapper(self._members)
        members = (Member(name=member.name.removeprefix(wrapper), content=member.content) for member in self._members)
        refused = frozenset(name.removeprefix(wrapper) for name in self._refused)
        return tuple(sorted(members, key=lambda member: member.name)), refused

    def _note(self, raw_name: bytes, message: str) -> None:
        self._leave_out(shown_name(raw_name), message)

    def _leave_out(self, name: str, message: str) -> None:
        self._refused.add(name)
        self.problems.add(refuse(message, file=name))

    def _safe_name(self, raw: bytes) -> str | None:
        """``raw`` as a safe relative path, or None after noting what is wrong with it."""
        if raw.startswith(b"./"):
            raw = raw[2:]
        if raw in (b"", b".") or _is_clutter(raw):
            return None
        problem = self._name_problem(raw)
        if problem:
            self._note(raw, problem)
            return None
        return raw.decode("ascii")

    def _name_problem(self, raw: bytes) -> str:
        if any(not 0x20 <= byte <= 0x7E for byte in raw):
            return "The name has characters outside printable ASCII; rename the file."
        name = raw.decode("ascii")
        if len(name) > self.limits.path:
            return f"The path is longer than {self.limits.path} characters; shorten it."
        if "\\" in name:
            return "The name has a backslash; pack with forward slashes."
        if name.startswith("/") or _DRIVE_LETTER.match(name):
            return "The path is absolute; pack relative paths."
        parts = name.split("/")
        if ".." in parts:
            return "The path climbs out of the archive with '..'; pack plain relative paths."
        if any(part in ("", ".") or part != part.strip() for part in parts):
            return "The path has an empty, '.' or space-padded part; pack plain relative paths."
        if len(parts) > self.limits.depth:
            return f"The path is deeper than {self.limits.depth} folders; flatten it."
        return ""

    def _is_new(self, name: str) -> bool:
        """Whether no earlier entry has this name, compared without case; notes the clash otherwise."""
        folded = name.lower()
        parents = self._register_folders(name)
        clash = self._seen.get(folded) or next((self._seen[p] for p in parents if p in self._seen), None)
        if clash is None and folded in self._folders:
            clash = name + "/"
        if clash is not None:
            self._leave_out(name, f"The name clashes with {clash!r}; every file needs its own.")
            return False
        self._seen[folded] = name
        return True

    def _register_folders(self, name: str) -> list[str]:
        parts = name.lower().split("/")[:-1]
        parents = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
        self._folders.update(parents)
        return parents


def _is_clutter(raw: bytes) -> bool:
    """What macOS puts into archives beside people's files."""
    parts = raw.split(b"/")
    return parts[0] == b"__MACOSX" or parts[-1] == b".DS_Store" or parts[-1].startswith(b"._")


def _wrapper(members: list[Member]) -> str:
    """The one folder that holds them all, as "compress this folder" makes it, with its slash; else empty."""
    tops = {member.name.split("/", 1)[0] for member in members}
    if len(tops) != 1 or tops == {"answers"} or any("/" not in member.name for member in members):
        return ""
    return f"{tops.pop()}/"
