"""Reading an output tree: what of each paper's modified repository differs from the masked one. No Django here.

Nothing is unpacked to disk. Every member is compared by hash and forgotten; only text that differs is kept.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from submissions.answers.intake import ArchiveLimits, Intake, ProblemList, readable, refuse, shown_name
from submissions.answers.protection import Protection, too_long, unsafe_name
from submissions.answers.tar_reader import read_tar_gz
from submissions.answers.tree_index import MAX_FILE_BYTES, FileMark, TreeIndex, mark_of
from submissions.answers.tree_layout import PaperFolder, TreeLayout, find_layout, is_bundle_name, looks_like_tree
from submissions.answers.tree_noise import noise_of_content, noise_of_name
from submissions.answers.types import BundleError, Problem, Severity
from submissions.answers.zip_reader import read_zip

if TYPE_CHECKING:
    from collections.abc import Callable

_MEGABYTE = 1024 * 1024
_ZIP = b"PK\x03\x04"
_MAX_KEPT_BYTES = 32 * _MEGABYTE
_MAX_CODE_BYTES = 8 * _MEGABYTE
_MAX_PROTECTED_BYTES = 8 * _MEGABYTE
_LONG_PATHS = "files with very long paths"
_LINE_ENDS = "files with other line ends only"
_SHOWN_EXAMPLES = 3

TREE_LIMITS = ArchiveLimits(
    upload=100 * _MEGABYTE,
    total=1024 * _MEGABYTE,
    member=MAX_FILE_BYTES,
    trajectory=MAX_FILE_BYTES,
    members=60_000,
    entries=60_000,
    path=400,
    depth=40,
)
"""The bounds of an output tree where the operator sets no others. Nothing beyond 1 MB is read, so data cost little."""


@dataclass(frozen=True, slots=True)
class TreeFolder:
    """What differs in one paper's repository (path to content), by what may become of it.

    ``changed`` may be part of an answer; ``protected`` may not (None where the content is too long to keep).
    ``missing`` are the goal files that are not there.
    """

    paper: str
    place: str
    changed: dict[str, bytes] = field(default_factory=dict)
    protected: dict[str, bytes | None] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeReading:
    """The papers of an output tree, and what was passed over in it."""

    folders: tuple[TreeFolder, ...] = ()
    remarks: tuple[Problem, ...] = ()


class _BundleInsteadError(Exception):
    """The archive is a bundle of answers."""


class _Names(Intake):
    """Collects the names of all files and reads none of them; what is wrong is said by whoever reads them."""

    def __init__(self, limits: ArchiveLimits, *, compressed_size: int) -> None:
        super().__init__(limits, ProblemList(0), compressed_size=compressed_size)
        self.names: list[str] = []

    def file(self, raw_name: bytes) -> str | None:
        self.count_entry()
        name = raw_name.removeprefix(b"./").decode("ascii", "replace")
        if is_bundle_name(name):
            raise _BundleInsteadError
        self.names.append(name)
        return None


class _Comparing(Intake):
    """Compares every file of the papers with the masked repository. What differs is kept by paper and path."""

    def __init__(
        self, limits: ArchiveLimits, problems: ProblemList, layout: TreeLayout, *, compressed_size: int
    ) -> None:
        super().__init__(limits, problems, compressed_size=compressed_size)
        self._layout = layout
        self._protection = Protection()
        self._kept_bytes = self._code_bytes = 0
        self._protected_bytes = 0
        self._known_names: set[str] = set()
        self.changed: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
        self.protected: defaultdict[str, dict[str, bytes | None]] = defaultdict(dict)
        self.seen: defaultdict[str, set[str]] = defaultdict(set)
        self.noise: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))

    def folder(self, raw_name: bytes) -> None:
        """Count the folder; only a name that leaves the archive is looked at."""
        self.count_entry()
        self._is_hostile(raw_name)

    def special(self, raw_name: bytes, kind: str) -> None:
        """Pass over a symbolic link, which repositories may hold; refuse whatever else is no file."""
        if kind != "symbolic link":
            super().special(raw_name, kind)
            return
        self.count_entry()
        found = None if self._is_hostile(raw_name) else self._layout.place_of(raw_name.decode("ascii", "replace"))
        if found:
            self.noise[found[0].place]["symbolic links"].append(found[1])

    def file(self, raw_name: bytes) -> str | None:
        """The name of a file that is to be compared; None for one that is passed over."""
        self.count_entry()
        raw_name = raw_name.removeprefix(b"./")
        if self._is_hostile(raw_name):
            return None
        name = raw_name.decode("ascii", "replace")
        found = self._layout.place_of(name)
        if found is None:
            return None
        if name in self._known_names:
            self._leave_out(shown_name(raw_name), "The archive holds this name twice; every file needs its own.")
            return None
        self._known_names.add(name)
        folder, path = found
        noise = self._noise_of(raw_name, name, path, folder)
        if noise:
            self.noise[folder.place][noise].append(path)
            return None
        return name

    def too_big(self, name: str) -> None:
        """Note a file that is too long to be code. A masked file of that kind stays as it was."""
        folder, path = self._found(name)
        self.noise[folder.place][f"files larger than {readable(MAX_FILE_BYTES)}"].append(path)
        self.seen[folder.place].add(path)

    def keep(self, name: str, content: bytes) -> None:
        """Compare one file with the masked one, and keep it if it may matter."""
        folder, path = self._found(name)
        self.seen[folder.place].add(path)
        mark, masked = mark_of(content), folder.paper.files.get(path)
        if masked is not None and mark.exact == masked.exact:
            return
        noise = self._noise_of_content(path, content, mark, masked)
        if noise:
            self.noise[folder.place][noise].append(path)
        elif masked is not None and self._is_protected(path, folder):
            self._protected_bytes += len(content)
            is_kept = self._protected_bytes <= _MAX_PROTECTED_BYTES
            self.protected[folder.place][path] = content if is_kept else None
        else:
            self._count_kept(path, len(content))
            self.changed[folder.place][path] = content

    def _count_kept(self, path: str, size: int) -> None:
        """Bound what is kept, and more narrowly what will be parsed."""
        self._kept_bytes += size
        self._code_bytes += size if path.lower().endswith(".py") else 0
        for kept, most, what in (
            (self._kept_bytes, _MAX_KEPT_BYTES, "files"),
            (self._code_bytes, _MAX_CODE_BYTES, "Python files"),
        ):
            if kept > most:
                self.fatal(f"The changed {what} hold more than {readable(most)}; send the answers alone.")

    def _found(self, name: str) -> tuple[PaperFolder, str]:
        found = self._layout.place_of(name)
        assert found is not None  # noqa: S101 - for the type checker: file() let it through
        return found

    def _is_hostile(self, raw: bytes) -> bool:
        """Note a name that no honest packer writes: one that leaves the archive, or could on some system."""
        parts = raw.split(b"/")
        if raw.startswith(b"/") or raw[1:2] == b":":
            self._leave_out(shown_name(raw), "The path is absolute; pack relative paths.")
        elif b".." in parts:
            self._leave_out(shown_name(raw), "The path climbs out of the archive with '..'; pack plain relative paths.")
        elif b"\\" in raw or b"\0" in raw:
            self._leave_out(shown_name(raw), "The name has a backslash or NUL; pack with forward slashes.")
        else:
            return False
        return True

    def _noise_of(self, raw: bytes, name: str, path: str, folder: PaperFolder) -> str:
        if any(not 0x20 <= byte <= 0x7E for byte in raw) or unsafe_name(path):
            return "files with unusual names"
        if len(name) > self.limits.path or name.count("/") >= self.limits.depth:
            return _LONG_PATHS
        if path in folder.paper.files:
            return ""
        if too_long(path):
            return _LONG_PATHS
        if self._protection.is_protected_name(path):
            return "new tests, configuration or compiled files"
        return noise_of_name(path)

    def _noise_of_content(self, path: str, content: bytes, mark: FileMark, masked: FileMark | None) -> str:
        if masked is not None and mark.plain == masked.plain:
            return _LINE_ENDS
        return noise_of_content(path, content, is_new=masked is None)

    def _is_protected(self, path: str, folder: PaperFolder) -> bool:
        return path not in folder.paper.goal_files and self._protection.is_protected_name(path)


def read_trees(
    data: bytes, index: TreeIndex | None, *, limits: ArchiveLimits, plain: ArchiveLimits, problems: ProblemList
) -> TreeReading | None:
    """The output tree in ``data`` (a zip or tar.gz), compared with ``index``; None where it is a bundle of answers.

    Without an index the names alone decide, within the ``plain`` limits of bundles, and no paper is looked at. What is
    wrong goes to ``problems``.

    Raises BundleError for an output tree that cannot be read to its end.
    """
    reader = read_zip if data.startswith(_ZIP) else read_tar_gz
    names = _names(data, reader, limits if index else plain)
    if names is None:
        return None
    layout = find_layout(names, index) if index else None
    if layout is None:
        return _without_papers(names, index, problems)
    problems.extend(layout.problems)
    intake = _Comparing(limits, problems, layout, compressed_size=len(data))
    reader(data, intake)
    folders = tuple(_folder(folder, intake) for folder in layout.folders)
    remarks = (remark for folder in layout.folders if (remark := _noise_remark(folder, intake)))
    return TreeReading(folders=folders, remarks=(*layout.remarks, *remarks))


def _names(data: bytes, reader: Callable[[bytes, Intake], None], limits: ArchiveLimits) -> list[str] | None:
    """The files' names; None for a bundle. An archive that breaks off is judged by the names until there."""
    intake = _Names(limits, compressed_size=len(data))
    try:
        reader(data, intake)
    except _BundleInsteadError:
        return None
    except BundleError:
        if not looks_like_tree(intake.names):
            return None
    return intake.names


def _without_papers(names: list[str], index: TreeIndex | None, problems: ProblemList) -> TreeReading | None:
    if not looks_like_tree(names):
        return None
    if index is not None:
        example = index.papers[0] if index.papers else None
        place = f"{example.folder}/{example.repository}/" if example else "<paper>/<repository>/"
        problems.add(refuse(f"No folder here is a paper of {index.suite!r}; they are expected as {place}..."))
    return TreeReading()


def _folder(folder: PaperFolder, intake: _Comparing) -> TreeFolder:
    place, seen = folder.place, intake.seen[folder.place]
    if not seen & folder.paper.files.keys():
        # An agent that never began leaves a folder of logs: nothing was attempted there, and nothing is missing.
        return TreeFolder(paper=folder.paper.slug, place=place.rstrip("/"))
    return TreeFolder(
        paper=folder.paper.slug,
        place=place.rstrip("/"),
        changed=intake.changed[place],
        protected=intake.protected[place],
        missing=tuple(goal for goal in folder.paper.goal_files if goal not in seen),
    )


def _noise_remark(folder: PaperFolder, intake: _Comparing) -> Problem | None:
    """One sentence on everything that was passed over in a paper's folder."""
    noise = intake.noise[folder.place]
    if not noise:
        return None
    sorted_noise = sorted(noise.items(), key=lambda item: (-len(item[1]), item[0]))
    pieces = [f"{kind}: {len(paths)} ({_examples(paths)})" for kind, paths in sorted_noise]
    message = f"Passed over as no part of an answer - {'; '.join(pieces)}."
    return Problem(severity=Severity.REMARK, message=message, file=folder.place.rstrip("/")[:200])


def _examples(paths: list[str]) -> str:
    shown = [shown_name(path.encode("ascii", "replace"))[:80] for path in sorted(paths)[:_SHOWN_EXAMPLES]]
    return ", ".join(shown) + (", ..." if len(paths) > _SHOWN_EXAMPLES else "")
