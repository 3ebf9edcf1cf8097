"""Collect what a reviewer may see of an answer while labelling, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from django.http import FileResponse, Http404
from django.utils.cache import patch_cache_control

from benchmark_tasks.domain.content import ContentMissingError, file_path, tree_path
from benchmark_tasks.domain.paper_folder import is_pdf
from benchmark_tasks.domain.queries import UNREADABLE, golden_definition, masked_definition
from submissions.comparison import lines_of, side_by_side
from submissions.domain.shown_changes import shown_other_changes
from submissions.enums import Visibility
from submissions.highlighting import code_with_visible_marks, with_visible_marks

if TYPE_CHECKING:
    from pathlib import Path

    from benchmark_tasks.models import TaskRevision
    from reviews.models import Assignment
    from submissions.comparison import Comparison
    from submissions.models import Implementation

PaperForm: TypeAlias = Literal["pdf", "text", "missing"]

LONGEST_FILE: Final = 200_000
"""Characters of a repository file that a page shows."""
_WITHDRAWN_OR_HIDDEN: Final = (Visibility.WITHDRAWN, Visibility.HIDDEN)


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file of the masked repository that is relevant to the task."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class MaskedFile:
    """The goal file as systems received it; ``first`` to ``last`` (from 1, inclusive; 0 if unknown) are masked."""

    path: str
    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class BlindItem:
    """One answer without its system, owner, test results or other labels.

    ``golden`` and ``candidate`` are the definitions as shown, whose lines findings count: dedented, without a final
    line end, with hidden characters made visible. ``golden`` is empty if this instance lacks it. If
    ``candidate_is_diff``, the goal was not found in the answer, and ``candidate`` is its whole diff. ``other_changes``
    is a unified diff of the answer's other changes, including the whole goal file if anything around the goal is
    changed. For an answer that was withdrawn or hidden since (``withheld``), both are empty.
    """

    task: str
    goal: str
    category: str
    paper_title: str
    paper_address: str
    paper_year: int | None
    paper_form: PaperForm
    instruction: str
    masked: MaskedFile
    context: tuple[ContextFile, ...]
    golden: str
    candidate: str
    candidate_is_diff: bool
    other_changes: str
    withheld: bool = False

    def compared(self, *, ignore_whitespace: bool = False) -> Comparison:
        """Compare the golden function with the answer."""
        languages = ("python", "diff" if self.candidate_is_diff else "python")
        return side_by_side(
            self.golden,
            self.candidate,
            ignore_whitespace=ignore_whitespace,
            languages=languages,
            docstring_blocks=True,
        )


def blind_item(assignment: Assignment) -> BlindItem:
    """Return the item to label for ``assignment``. Files missing in the content store are left out."""
    answer = assignment.case.implementation
    revision = answer.revision
    paper = revision.task.paper
    withheld = answer.submission.visibility in _WITHDRAWN_OR_HIDDEN
    return BlindItem(
        task=revision.task.slug,
        goal=revision.goal,
        category=revision.category.title if revision.category else "",
        paper_title=paper.title,
        paper_address=paper.address,
        paper_year=paper.year,
        paper_form=paper_form(revision),
        instruction=revision.instruction,
        masked=_masked_file(revision),
        context=_context(revision),
        golden=shown_golden(revision),
        candidate="" if withheld else shown_candidate(answer),
        candidate_is_diff=not answer.goal_source,
        other_changes="" if withheld else shown_other_changes(answer),
        withheld=withheld,
    )


def line_count(assignment: Assignment) -> dict[str, int]:
    """Return the number of lines of each :class:`~reviews.enums.FindingSide`."""
    answer = assignment.case.implementation
    return {"candidate": len(lines_of(shown_candidate(answer))), "golden": len(lines_of(shown_golden(answer.revision)))}


def paper_file(revision: TaskRevision) -> Path | None:
    """Return the path of the paper in the content store, or None."""
    if not revision.paper_hash:
        return None
    try:
        return file_path(revision.paper_hash)
    except ContentMissingError:
        return None


def paper_form(revision: TaskRevision) -> PaperForm:
    """Return whether the paper can be shown as a PDF, as text, or not at all."""
    file = paper_file(revision)
    if file is None:
        return "missing"
    return "pdf" if is_pdf(file) else "text"


def paper_response(assignment: Assignment) -> FileResponse:
    """Return the paper of an item as a file with a neutral name. Raises Http404 if none is stored."""
    revision = assignment.case.implementation.revision
    file = paper_file(revision)
    if file is None:
        raise Http404("No paper is stored for this task.")
    kind, name = ("application/pdf", "paper.pdf") if is_pdf(file) else ("text/plain; charset=utf-8", "paper.txt")
    response = FileResponse(file.open("rb"), content_type=kind, filename=name)
    response["X-Content-Type-Options"] = "nosniff"
    patch_cache_control(response, private=True, max_age=3600)
    return response


def shown_definition(source: str) -> str:
    """Return a definition for display: dedented, without final line ends, with hidden characters made visible."""
    # Python also ends lines, and so comments, at lone carriage returns.
    lines = source.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")
    indentation = lines[0][: len(lines[0]) - len(lines[0].lstrip(" \t"))]
    # A multi-line string may be indented less than the definition; then do not dedent.
    if all(line.startswith(indentation) or not line.strip() for line in lines):
        lines = [line.removeprefix(indentation) for line in lines]
    return with_visible_marks("\n".join(lines))


def shown_golden(revision: TaskRevision) -> str:
    """Return the golden function as shown, whose lines findings count; empty if it is not available."""
    try:
        return shown_definition(golden_definition(revision))
    except UNREADABLE:
        return ""


def shown_candidate(answer: Implementation) -> str:
    """Return the answer's goal as shown; if none was found, the answer's whole diff."""
    if answer.goal_source:
        return shown_definition(answer.goal_source)
    return code_with_visible_marks((answer.diff or answer.raw_answer).replace("\r\n", "\n").rstrip("\n"))


def _masked_file(revision: TaskRevision) -> MaskedFile:
    """Return the whole goal file if the content store has it, else only the masked definition."""
    try:
        found = masked_definition(revision)
    except UNREADABLE:
        lines = len(revision.masked_source.rstrip("\n").split("\n"))
        return MaskedFile(revision.goal_file, revision.masked_source, 1, lines)
    return MaskedFile(revision.goal_file, "".join(found.source.lines), found.first_line, found.last_line)


def _context(revision: TaskRevision) -> tuple[ContextFile, ...]:
    try:
        tree = tree_path(revision.repository_hash)
    except ContentMissingError:
        return ()
    files = [(path, tree / path) for path in revision.retrieval_context if (tree / path).is_file()]
    return tuple(ContextFile(path, _text(file)) for path, file in files)


def _text(file: Path) -> str:
    with file.open("rb") as opened:
        return opened.read(LONGEST_FILE).decode("utf-8", errors="replace")
