"""What an answer changes besides the goal, as pages and commands show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmark_tasks.domain.queries import UNREADABLE, masked_definition
from submissions.answers.changes import other_changes, other_files
from submissions.highlighting import code_with_visible_marks

if TYPE_CHECKING:
    from submissions.models import Implementation


def shown_other_changes(answer: Implementation) -> str:
    """The answer's difference without the goal itself; all of it where the masked file is not here.

    Empty where no goal was found in the answer, since all of it is shown then.
    """
    if not answer.goal_source:
        return ""
    others = _other_files(answer)
    diff = answer.diff if others is None else other_changes(answer.diff, path=answer.revision.goal_file, others=others)
    return code_with_visible_marks(diff.rstrip("\n"))


def changes_more(answer: Implementation) -> bool:
    """Whether the answer changes anything but the goal; false where that cannot be told."""
    return bool(answer.goal_source and (_other_files(answer) or answer.deleted))


def _other_files(answer: Implementation) -> dict[str, str] | None:
    """What differs beside the goal; ``None`` where the masked file is not here."""
    try:
        masked = masked_definition(answer.revision)
    except UNREADABLE:
        return None
    path, files = answer.revision.goal_file, answer.files or {}
    return other_files(masked, path=path, files=files, goal_source=answer.goal_source)
