"""Check that the files named in info.json exist and are usable. No Django here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from benchmark_tasks.domain.folders import (
    LFS_ADVICE,
    LFS_NOT_NEEDED,
    MAXIMUM_FILE_BYTES,
    MAXIMUM_SOURCE_BYTES,
    Listing,
    PathLeavesFolderError,
    UnusableFileError,
    is_folder,
    list_files,
    pointers_among,
    read_regular,
    regular_file,
)
from benchmark_tasks.domain.goals import FoundGoal, Goal, defines_function, find_goal
from benchmark_tasks.domain.paper_folder import GradingFiles, PaperFolder, TaskFolder, UpstreamFiles, is_pdf
from benchmark_tasks.domain.problems import ImportProblem
from benchmark_tasks.domain.python_source import SourceError, parse_source, same_code
from benchmark_tasks.domain.upstream_tests import choose_unit_test, missing_data

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from benchmark_tasks.domain.info import PaperInfo, TaskInfo
    from benchmark_tasks.domain.overlays import Overlay

PAPER_FILES: Final = ("paper.pdf", "paper.json")
NO_PAPER: Final = "is missing: there is no publication to read with the task"
DOCKERFILE: Final = "Dockerfile"
_MOST_REMARKS: Final = 20
_Found = TypeVar("_Found")


def read_paper_folder(
    folder: Path, info: PaperInfo, problems: list[ImportProblem], overlays: Mapping[int, Overlay]
) -> PaperFolder:
    """Check every file that ``info`` names; ``folder`` is resolved. Problems and reasons are added in file order.

    The probes of ``overlays``, by task index, replace upstream's tests.
    """
    return _Reader(folder, info, problems, overlays).read()


class _Reader:
    """One paper's folder while it is being read."""

    def __init__(
        self, folder: Path, info: PaperInfo, problems: list[ImportProblem], overlays: Mapping[int, Overlay]
    ) -> None:
        self._folder = folder
        self._overlays = dict(overlays)
        self._info = info
        self._problems = problems
        self._repository_reason = ""
        self._cut: dict[str, bytes] = {}
        """Content of the repository files from which an overlay removes lines, without these lines."""
        self._repository, self._listing = self._open_repository()
        self.pointers: Collection[str] = ()
        """Repository files that are Git LFS pointers."""
        if self._repository is not None:
            self.pointers = frozenset(pointers_among(self._repository, self._listing.sizes))

    @property
    def repository_files(self) -> Collection[str]:
        """The paths of the files to import from the masked repository."""
        return self._listing.sizes.keys()

    def read(self) -> PaperFolder:
        """Read the whole folder and report its problems."""
        leaks = self._leaks()
        self._remark_pointers()
        tasks = []
        for task in self._info.implementations:
            state = _TaskReader(self, task, self._overlays.get(task.index))
            tasks.append(state.read(self._repository_reason or leaks))
        return PaperFolder(
            info=self._info,
            path=self._folder,
            repository=self._repository,
            repository_files=tuple(self._listing.sizes),
            cut_files=self._cut,
            paper_file=self._paper_file(),
            dockerfile=self._dockerfile(),
            tasks=tuple(tasks),
        )

    def remark(
        self, relative: str, message: str, *, fatal: bool = False, line: int | None = None, task: str = ""
    ) -> None:
        """Report a problem of a file below the paper's folder; a fatal problem refuses the whole import."""
        file = f"{self._info.folder_name}/{relative}"
        problem = ImportProblem(file, message, line, None, fatal, fatal, task)
        if problem not in self._problems:
            self._problems.append(problem)

    def read_file(self, relative: str) -> bytes:
        """Read a file below the paper's folder. Raises UnusableFileError; a path that leads out refuses the import."""
        cut = {self.in_repository(name): content for name, content in self._cut.items()}
        return cut[relative] if relative in cut else self._inside(relative, read_regular, MAXIMUM_SOURCE_BYTES)

    def place_of(self, relative: str, *, limit: int = MAXIMUM_FILE_BYTES) -> Path:
        """Return the path of a file below the paper's folder, with the checks of :meth:`read_file`."""
        return self._inside(relative, regular_file, limit)

    def _inside(self, relative: str, find: Callable[..., _Found], limit: int) -> _Found:
        try:
            return find(self._folder, relative, limit=limit)
        except PathLeavesFolderError as error:
            self.remark(relative, str(error), fatal=True)
            raise UnusableFileError("leads out of the folder") from error

    def in_repository(self, relative: str) -> str:
        """Return a repository file's path relative to the paper's folder."""
        return f"{self._info.repo_folder_name}/{relative}"

    def has_repository_file(self, relative: str) -> bool:
        """Return whether a file of this name is imported with the repository."""
        return relative in self._listing.sizes

    def is_inside_repository(self, relative: str) -> bool:
        """Return whether a path below the paper's folder is in the masked repository, which candidates see."""
        return relative.startswith(f"{self._info.repo_folder_name}/") if self._info.repo_folder_name else False

    def _open_repository(self) -> tuple[Path | None, Listing]:
        name = self._info.repo_folder_name
        if not name:
            self._repository_reason = "info.json names no repository folder (repo_folder_name)"
            return None, Listing()
        try:
            found = is_folder(self._folder, name)
        except PathLeavesFolderError as error:
            self.remark(name, str(error), fatal=True)
            found = False
        except UnusableFileError as error:
            self.remark(name, str(error))
            found = False
        other = "" if found else self._only_repository()
        if not found and not other:
            self._repository_reason = f"the repository folder {name!r} is missing"
            return None, Listing()
        if other:
            self.remark(other, f"is taken as the repository, since there is no folder {name!r}")
            self._info, name = self._info.model_copy(update={"repo_folder_name": other}), other
        listing = list_files(self._folder / name)
        for file, why in listing.skipped:
            self.remark(self.in_repository(file), why)
        self._leave_out(self._folder / name, listing)
        if listing.excess:
            self._repository_reason = f"the repository folder {name!r} {listing.excess}"
            return None, Listing()
        return self._folder / name, listing

    def _leave_out(self, repository: Path, listing: Listing) -> None:
        """Leave out the files and lines that the overlays name; lines that differ from the overlay's are kept."""
        stayed = set()
        every = {each for overlay in self._overlays.values() for each in overlay.left_out}
        # A file's last lines first, so that earlier line numbers stay valid.
        for each in sorted(every, key=lambda each: each.lines.first if each.lines else 0, reverse=True):
            cut = None
            if each.lines and each.file in listing.sizes:
                whole = self._cut[each.file] if each.file in self._cut else (repository / each.file).read_bytes()
                cut = each.lines.cut(whole)
                if cut is None:
                    stayed.add(each)
                    self.remark(self.in_repository(each.file), "has other lines than the overlay leaves out; they stay")
                    continue
            listing.drop(each.file)
            if cut is not None:
                self._cut[each.file] = cut
                listing.add(each.file, len(cut))
        for index, one in self._overlays.items():
            self._overlays[index] = replace(one, left_out=tuple(each for each in one.left_out if each not in stayed))

    def _only_repository(self) -> str:
        """Return the only folder that has every goal file: upstream renames repositories without updating info.json."""
        if any(task.protocol != "upstream" and task.index not in self._overlays for task in self._info.implementations):
            return ""
        goals = [task.goal_file for task in self._info.implementations]
        folders = [path.name for path in self._folder.iterdir() if path.is_dir() and not path.is_symlink()]
        found = [
            name
            for name in folders
            if goals and name.isprintable() and all(goal and (self._folder / name / goal).is_file() for goal in goals)
        ]
        return found[0] if len(found) == 1 else ""

    def _remark_pointers(self) -> None:
        pointers = sorted(self.pointers)
        if pointers and all(task.index in self._overlays for task in self._info.implementations):
            self.remark(self._info.repo_folder_name, LFS_NOT_NEEDED)
        elif len(pointers) > _MOST_REMARKS:
            message = f"holds {len(pointers)} files like {pointers[0]}, which {LFS_ADVICE}"
            self.remark(self._info.repo_folder_name, message)
        else:
            for name in pointers:
                self.remark(self.in_repository(name), LFS_ADVICE)

    def _dockerfile(self) -> Path | None:
        try:
            return self.place_of(DOCKERFILE, limit=MAXIMUM_SOURCE_BYTES)
        except UnusableFileError as error:
            if str(error) != "is missing":
                self.remark(DOCKERFILE, str(error))
            return None

    def _paper_file(self) -> Path | None:
        """Find the publication, which upstream keeps beside the repository or in it, as PDF or as JSON."""
        places = [*PAPER_FILES, *(self.in_repository(name) for name in PAPER_FILES if self._repository)]
        for place in places:
            try:
                found = self.place_of(place)
            except UnusableFileError as error:
                if str(error) != "is missing":
                    self.remark(place, str(error))
                continue
            if place.endswith(".pdf") and not is_pdf(found):
                self.remark(place, "is not a PDF file; left out")
                continue
            return found
        self.remark(PAPER_FILES[0], NO_PAPER)
        return None

    def _leaks(self) -> str:
        """Return the reason if the masked repository contains a golden file, else an empty text."""
        if self._repository is None:
            return ""
        sizes = self._listing.sizes
        for task in self._info.implementations:
            try:
                golden = self.read_file(task.golden_file) if task.golden_file else b""
            except UnusableFileError:
                continue
            # A golden file that equals the goal file itself masks nothing: the task has a reason of its own for that.
            others = [name for name in sizes if name != task.goal_file and golden.strip()]
            for name in [name for name in others if sizes[name] == len(golden)]:
                if (self._repository / name).read_bytes() == golden:
                    return (
                        f"the masked repository holds a copy of {task.golden_file} ({name}): it gives the answer away"
                    )
        return ""


class _TaskReader:
    """One task while its files are checked: collects reasons, and reports each as a problem of its file."""

    def __init__(self, paper: _Reader, info: TaskInfo, overlay: Overlay | None) -> None:
        self._paper = paper
        self._info = info
        self._overlay = overlay
        self._reasons: list[str] = []
        self._upstream_reasons: list[str] = []
        self._masked_source = ""
        self._masked_line = 0

    def read(self, paper_reason: str) -> TaskFolder:
        info = self._info
        if paper_reason:
            self._add_reason("info.json", paper_reason, line=info.line)
        if not info.instruction:
            self._add_reason("info.json", "info.json gives no instruction", line=info.line)
        golden, solved = self._golden()
        if not paper_reason:
            self._masked(solved)
        cases, run = self._probe() if info.protocol == "sealed" else (None, None)
        of_upstream = self._overlay or info.protocol == "upstream"
        unit_test_file = self._upstream_test() if of_upstream and not paper_reason else ""
        for path in info.context if not paper_reason else ():
            if not self._paper.has_repository_file(path):
                place = self._paper.in_repository(path)
                self._paper.remark(place, f"is named as context of {info.slug} but is missing")
        grading: GradingFiles | UpstreamFiles | None = None
        if not self._reasons and golden is not None and cases is not None and run is not None:
            grading = GradingFiles(golden, cases, run)
        elif not self._reasons and golden is not None and unit_test_file:
            grading = UpstreamFiles(golden, unit_test_file)
        return TaskFolder(
            info,
            tuple(self._reasons),
            self._masked_source,
            self._masked_line,
            grading,
            unit_test_file,
            self._overlay,
            tuple(self._upstream_reasons),
        )

    def _add_unnamed_key(self, key: str) -> None:
        self._add_reason("info.json", f"info.json names no {key}", line=self._info.line)

    def _add_reason(self, file: str, reason: str, *, line: int | None = None) -> None:
        self._reasons.append(reason)
        slug = self._info.slug
        self._paper.remark(file, f"{slug} is not runnable: {reason}", line=line, task=slug)

    def _read(self, key: str, relative: str, *, hidden: bool = True) -> bytes | None:
        """Return a named file's bytes, or None with a reason. ``hidden`` files may not be in the masked repository."""
        if not relative:
            self._add_unnamed_key(key)
            return None
        if hidden and self._paper.is_inside_repository(relative):
            self._add_reason(
                relative, f"{key} {relative} lies inside the masked repository, where candidates can read it"
            )
            return None
        try:
            return self._paper.read_file(relative)
        except UnusableFileError as error:
            self._add_reason(relative, f"{key} {relative} {error}")
            return None

    def _golden(self) -> tuple[bytes | None, FoundGoal | None]:
        info = self._info
        data = self._read("golden_file", info.golden_file)
        return data, self._goal_in(data, info.golden_file) if data is not None and info.goal_function else None

    def _masked(self, solved: FoundGoal | None) -> None:
        info = self._info
        if not info.goal_function:
            self._add_unnamed_key("goal_function")
            return
        path = self._paper.in_repository(info.goal_file)
        data = self._read("goal_file", path if info.goal_file else "", hidden=False)
        found = None if data is None else self._goal_in(data, path)
        if found is None:
            return
        if not self._paper.has_repository_file(info.goal_file):
            self._add_reason(path, f"goal_file {path} lies in a folder that is not imported")
            return
        self._masked_line = found.first_line
        self._masked_source = found.text.replace("\r\n", "\n").replace("\r", "\n")
        if solved is not None and same_code(found.node, solved.node):
            self._add_reason(
                path, f"{info.goal_function} is the same in the goal file and the golden file: nothing is masked"
            )

    def _goal_in(self, data: bytes, relative: str) -> FoundGoal | None:
        """Find the goal in a file's bytes; None, with a reason, if no answer could be put there."""
        info = self._info
        try:
            return find_goal(data, Goal(info.slug, info.goal_file, info.goal_function, info.class_name))
        except SourceError as error:
            self._add_reason(relative, f"{relative} {error}", line=error.line)
            return None

    def _probe(self) -> tuple[bytes | None, bytes | None]:
        """Read the sealed probe: ``cases`` in one file, ``run`` in another."""
        info = self._info
        if self._overlay:
            return self._overlay.cases.read_bytes(), self._overlay.run.read_bytes()
        if info.check is None:
            self._add_reason("info.json", "the protocol is sealed but no check is declared", line=info.line)
        cases = self._read("cases_file", info.check.cases_file) if info.check else None
        run = self._read("unit_test_file", info.unit_test_file)
        if cases is not None and info.check is not None:
            self._expect_function(cases, "cases", info.check.cases_file)
        if run is not None:
            self._expect_function(run, "run", info.unit_test_file)
        return cases, run

    def _expect_function(self, data: bytes, name: str, relative: str) -> None:
        try:
            if not defines_function(data, name):
                self._add_reason(relative, f"{relative} does not define the function {name!r}")
        except SourceError as error:
            self._add_reason(relative, f"{relative} {error}", line=error.line)

    def _add_test_reason(self, file: str, reason: str, *, line: int | None = None) -> None:
        """Add a reason why upstream's test cannot run. A task with a probe of ours is runnable without that test."""
        if self._overlay:
            self._upstream_reasons.append(reason)
        else:
            self._add_reason(file, reason, line=line)

    def _upstream_test(self) -> str:
        """Return the path of upstream's unit test in the repository, where it runs; empty, with a reason, if unfit."""
        info, paper = self._info, self._paper
        path = choose_unit_test(info.unit_test_file, info.index, paper.repository_files)
        place = paper.in_repository(path or info.unit_test_file)
        if not path and not info.unit_test_file:
            self._add_test_reason("info.json", "info.json names no unit_test_file", line=info.line)
        elif not path:
            self._add_test_reason(place, f"unit_test_file {info.unit_test_file} is missing")
        if not path:
            return ""
        if path != info.unit_test_file:
            paper.remark(place, f"is taken as the unit test of {info.slug}, whose own does not exist")
        try:
            tree = parse_source(paper.read_file(place))
        except UnusableFileError as error:
            self._add_test_reason(place, f"unit_test_file {path} {error}")
            return ""
        except SourceError as error:
            self._add_test_reason(place, f"unit_test_file {path} {error}", line=error.line)
            return ""
        for reason in missing_data(path, tree, paper.repository_files, paper.pointers):
            self._add_test_reason(place, reason)
        return path
