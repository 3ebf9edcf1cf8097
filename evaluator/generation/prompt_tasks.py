"""Collect what a model sees of a task from the catalogue and the content store: never tests, never golden files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmark_tasks.domain.content import file_path, tree_path
from benchmark_tasks.domain.derived import derived, derived_here
from evaluator.generation.papers import Paper, PaperError, read_paper_limited
from evaluator.generation.prompting import PromptTask

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision

PAPER_FORM: Final = "3"
"""Version of how papers are read. A change makes every paper be read again."""

# A paper that could not be read stays unreadable until the reader changes, so that result is stored as well.
_UNREADABLE: Final = "unreadable"


def prompt_task(revision: TaskRevision) -> PromptTask:
    """Return the prompt's material for ``revision``; a paper that cannot be read is left out.

    Raises ``ContentMissingError``.
    """
    tree = tree_path(revision.repository_hash)
    return PromptTask(
        slug=revision.task.slug,
        instruction=revision.instruction,
        goal_file=revision.goal_file,
        goal_function=revision.goal_function,
        class_name=revision.class_name,
        goal_file_text=(tree / revision.goal_file).read_text(encoding="utf-8", errors="replace"),
        masked_source=revision.masked_source,
        retrieval_context=tuple(_context(tree, path) for path in revision.retrieval_context if (tree / path).is_file()),
        paper=paper_of(revision),
        alone=revision.goal_file == revision.unit_test_file,
    )


def paper_of(revision: TaskRevision) -> Paper | None:
    """Return the revision's paper as sections, read once and then stored; ``None`` if it cannot be read."""
    if not revision.paper_hash:
        return None
    try:
        return stored_paper(revision.paper_hash)
    except PaperError:
        return None


def stored_paper(paper_hash: str, file: Path | None = None) -> Paper:
    """Read the paper with this content hash once, from ``file`` or the content store, and store the result.

    Raises PaperError, and ContentMissingError or OSError where there is no file.
    """

    def read(place: Path) -> None:
        try:
            found = read_paper_limited(file or file_path(paper_hash)).as_data()
        except PaperError as error:
            if error.late:  # the machine may be busy; that does not make the paper unreadable
                raise
            found = {_UNREADABLE: str(error)}
        place.write_text(json.dumps(found), encoding="utf-8")

    data = _data_in(derived(*_kept_as(paper_hash), read))
    if data is None:  # a power loss left it incomplete, and it was removed
        data = _data_in(derived(*_kept_as(paper_hash), read)) or {}
    if _UNREADABLE in data:
        raise PaperError(data[_UNREADABLE])
    return Paper.from_data(data)


def why_unreadable(revision: TaskRevision) -> str:
    """Return why models and judges do not get the revision's paper, as found when it was read; empty if they do."""
    kept = derived_here(*_kept_as(revision.paper_hash))
    return str((_data_in(kept) or {}).get(_UNREADABLE, "")) if kept else ""


def _data_in(file: Path) -> dict[str, Any] | None:
    """Return what a stored text holds; remove the file and return None if that is incomplete."""
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        file.unlink(missing_ok=True)
        return None
    return data


def _kept_as(paper_hash: str) -> tuple[str, str]:
    return "papers", f"{paper_hash}-{PAPER_FORM}.json"


def _context(tree: Path, path: str) -> tuple[str, str]:
    return path, (tree / path).read_text(encoding="utf-8", errors="replace")
