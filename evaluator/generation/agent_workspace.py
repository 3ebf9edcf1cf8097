"""Prepare the contents of an agent's box: as much of the masked repository as its inputs allow, the paper, a shell.

Tests are never among them.
"""

from __future__ import annotations

import ast
import re
import shutil
import textwrap
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.goals import Goal, find_goal
from benchmark_tasks.domain.python_source import SourceError
from evaluator.sandbox.environments import run_step
from evaluator.sandbox.interface import Mount, SandboxError
from evaluator.sandbox.trees import entries, link_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_FOLDERS: Final = frozenset({"golden_files", "probes", "unit_test", "unit_tests"})
"""Names of folders that hold a benchmark's own tests; agents never get them."""

LENT_TOOLS: Final = (
    "sh bash awk basename cat chmod cmp cp cut date diff dirname du echo env expr false find grep head id ln ls "
    "md5sum mkdir mktemp mv nl od paste patch printf pwd readlink realpath rm rmdir "
    "sed seq sleep sort stat tac tail tee test timeout touch tr true uname uniq wc xargs"
)
_LIBRARY: Final = re.compile(r"^\s*(\S+) => (/\S+) \(0x", re.MULTILINE)
_BLOCK: Final = 4096
_ENTRY_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class AgentTask:
    """One task as an agent gets it.

    ``repository`` is the masked tree (only read; it includes ``unit_test_file`` where that is one of upstream's, but
    the box does not). ``inputs`` is ``full``, ``paper_goal_file`` (of the repository only the goal file) or
    ``paper_only`` (only the masked definition). ``environment`` names the box's environment.
    """

    goal: Goal
    instruction: str
    repository: Path
    paper_pdf: Path | None
    paper_text: str
    environment: str
    inputs: str
    unit_test_file: str = ""

    @property
    def is_definition(self) -> bool:
        """Whether the goal file in the box holds only the definition, as it does where the file is among the tests."""
        file = self.goal.file
        is_among_tests = file == self.unit_test_file or not OWN_FOLDERS.isdisjoint(PurePosixPath(file).parts)
        return self.inputs == "paper_only" or is_among_tests


@dataclass(frozen=True, slots=True)
class Workspace:
    """What is mounted, and how much room its copies need (bytes and entries)."""

    mounts: tuple[Mount, ...]
    size: int
    entries: int
    largest: int


@contextmanager
def prepared(task: AgentTask, *, scratch: Path | None = None) -> Iterator[Workspace]:
    """Create the folders for one agent's box below ``scratch``, which must exist; remove them at the end.

    Raises :class:`SandboxError` when the masked repository does not match the task.
    """
    with TemporaryDirectory(prefix="agent-", dir=scratch) as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            _fill(task, folder)
            _write_paper(task, folder / "paper")
        except (OSError, SourceError) as error:
            raise SandboxError(f"{task.goal.task}: the agent's folder cannot be made: {error}") from error
        sizes = [status.st_size for _, status in entries(folder)]
        yield Workspace(
            mounts=(Mount(folder / "repository", "/box/repository"), Mount(folder / "paper", "/box/paper")),
            size=sum(-(-size // _BLOCK) * _BLOCK + _ENTRY_BYTES for size in sizes),
            entries=len(sizes),
            largest=max(sizes),
        )


def definition_alone(content: bytes, goal: Goal, *, with_imports: bool) -> str:
    """Return the masked definition, dedented; with ``with_imports``, after its file's imports.

    Raises :class:`SourceError` where the definition is missing.
    """
    found = find_goal(content, goal)
    statements = [node for node in found.source.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    imports = "".join(
        "".join(found.source.lines[node.lineno - 1 : node.end_lineno]) for node in statements if with_imports
    )
    text = textwrap.dedent(found.text)
    return f"{imports}\n\n{text}" if imports else text


@lru_cache(maxsize=1)
def shell_mounts() -> tuple[Mount, ...]:
    """Return mounts of the host's shell, its usual helpers and their libraries, for boxes that have no shell.

    Raises :class:`SandboxError` if the host has no shell.
    """
    found = {name: path for name in LENT_TOOLS.split() if (path := shutil.which(name))}
    if "sh" not in found:
        raise SandboxError("this machine has no sh that an agent's box could use")
    output = run_step(["ldd", *found.values()], "reading the libraries that the shell needs (ldd)", allowed=(0, 1))
    libraries = dict(_LIBRARY.findall(output))
    return (
        *(Mount(Path(path), f"/box/tools/bin/{name}") for name, path in sorted(found.items())),
        *(Mount(Path(path), f"/box/tools/lib/{name}") for name, path in sorted(libraries.items())),
    )


def _fill(task: AgentTask, folder: Path) -> None:
    """Make ``folder/repository``."""
    repository, goal = folder / "repository", task.goal
    content = (task.repository / goal.file).read_bytes()
    if task.inputs == "full":
        _without_tests(task, repository)
    else:
        repository.mkdir()
    place = repository / goal.file
    if task.is_definition:
        text = definition_alone(content, goal, with_imports=task.inputs != "paper_only").encode()
    else:
        text = content
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(text)


def _without_tests(task: AgentTask, target: Path) -> None:
    """Link the masked repository to ``target``, without unit tests and the files that only they use."""
    link_tree(task.repository, target, bytecode=False)
    if task.unit_test_file:
        _remove_test(target, PurePosixPath(task.unit_test_file))
    for path in [path for path, _ in entries(target) if path.name in OWN_FOLDERS and not path.is_symlink()]:
        if path.is_dir():
            shutil.rmtree(path)


def _remove_test(tree: Path, test: PurePosixPath) -> None:
    """Remove the folder of ``test``, or at the root only the test itself, and the files that only it names."""
    for name in _named_only_by(tree, test):
        (tree / name).unlink(missing_ok=True)
    if len(test.parts) > 1:
        shutil.rmtree(tree / test.parent)
    else:
        (tree / test).unlink(missing_ok=True)


def _named_only_by(tree: Path, test: PurePosixPath) -> list[PurePosixPath]:
    """Return the files outside the test's folder whose names occur in the test and in no other source file."""
    try:
        parsed = ast.parse((tree / test).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    constants = (node.value for node in ast.walk(parsed) if isinstance(node, ast.Constant))
    texts = {value for value in constants if isinstance(value, str) and value}
    files = [PurePosixPath(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()]
    outside = [file for file in files if len(test.parts) == 1 or test.parent not in file.parents]
    data = [file for file in outside if file.suffix != ".py" and any(text.endswith(file.name) for text in texts)]
    sources = [(tree / file).read_bytes() for file in outside if file.suffix == ".py" and file != test] if data else []
    return [file for file in data if not any(file.name.encode() in source for source in sources)]


def _write_paper(task: AgentTask, folder: Path) -> None:
    folder.mkdir()
    if task.paper_text:
        (folder / "paper.txt").write_text(task.paper_text, encoding="utf-8", errors="replace")
    if task.paper_pdf is not None:
        shutil.copyfile(task.paper_pdf, folder / "paper.pdf")
