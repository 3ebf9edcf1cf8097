"""Read the answers with known verdicts that the project ships beside its suites and overlays. No Django here.

They lie in the folder ``samples`` of a paper: ``alternative_<index>*.py`` are right, ``wrong_<index>*.py`` are wrong.
Each file is an answer as it can be submitted. Its first comment, or else its docstring, says what it is.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.overlays import Overlays

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmark_tasks.models import TaskRevision

SHIPPED_SUITES_FOLDER: Final = Path(__file__).resolve().parents[1] / "suites"
_PREFIXES: Final = {"alternative": True, "wrong": False}


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """An answer's file name without suffix, whether it is right, what it is in a sentence, and its source."""

    name: str
    right: bool
    about: str
    source: str


def known_answers(revision: TaskRevision) -> tuple[KnownAnswer, ...]:
    """Return the known answers to a task: right ones first, each kind by name; none for a suite without samples.

    An overlay's answers belong to its sealed test: without the overlay, a task has none.
    """
    task = revision.task
    folder: Path | None = SHIPPED_SUITES_FOLDER / task.suite.slug / task.paper.folder_name
    if revision.overlay:
        folder = Overlays.of(task.suite.slug).folders.get(task.paper.slug)
    return answers_in(folder / "samples", task.index) if folder else ()


def known_source(revision: TaskRevision, *, right: bool) -> str:
    """Return the source of the first right or wrong answer to a task; empty if there is none."""
    return next((each.source for each in known_answers(revision) if each.right is right), "")


@cache
def answers_in(folder: Path, index: int) -> tuple[KnownAnswer, ...]:
    """Return the answers in ``folder`` to the task with this index. Raises SyntaxError for one that does not parse.

    They are read once: each sweep of the queue asks for those of all tasks, and they change only with the project.
    """
    return tuple(
        KnownAnswer(file.stem, right, _about(source), source)
        for prefix, right in _PREFIXES.items()
        for file in sorted({*folder.glob(f"{prefix}_{index}.py"), *folder.glob(f"{prefix}_{index}_*.py")})
        for source in [file.read_text(encoding="utf-8")]
    )


def digest_of(answers: Iterable[KnownAnswer]) -> str:
    """Return SHA-256 of names and sources: an audit made with other answers is outdated."""
    parts = [f"{each.name}\n{hashlib.sha256(each.source.encode()).hexdigest()}\n" for each in answers]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _about(source: str) -> str:
    first = source.partition("\n")[0]
    if first.startswith("#"):
        return first.lstrip("# ").removeprefix("Right: ").removeprefix("Wrong: ")
    definitions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    # Helpers come before the answer's definition.
    return (ast.get_docstring(definitions[-1]) or "").partition("\n")[0] if definitions else ""
