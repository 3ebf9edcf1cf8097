"""Find an answer's changes outside the goal, which every rater must see. Does not parse the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.queries import UNREADABLE, masked_definition
from submissions.highlighting import code_with_visible_marks

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from benchmark_tasks.domain.goals import FoundGoal
    from submissions.models import Implementation

_PART: Final = "diff --git "


def shown_other_changes(answer: Implementation) -> str:
    """Return the answer's diff without the goal, or all of it if the masked file is not available.

    Empty if no goal was found in the answer, since then the whole answer is shown.
    """
    if not answer.goal_source:
        return ""
    others = _others(answer)
    diff = answer.diff if others is None else other_changes(answer.diff, path=answer.revision.goal_file, others=others)
    return code_with_visible_marks(diff.rstrip("\n"))


def changes_more(answer: Implementation) -> bool:
    """Return whether the answer changes anything besides the goal; false if unknown."""
    return bool(answer.goal_source and (_others(answer) or answer.deleted))


def _others(answer: Implementation) -> dict[str, str] | None:
    """Return the files with changes besides the goal; ``None`` if the masked file is not available."""
    try:
        masked = masked_definition(answer.revision)
    except UNREADABLE:
        return None
    path, files = answer.revision.goal_file, answer.files or {}
    return other_files(masked, path=path, files=files, goal_source=answer.goal_source)


def other_files(masked: FoundGoal, *, path: str, files: Mapping[str, str], goal_source: str) -> dict[str, str]:
    """Return those of ``files`` (repository path to new text) with changes besides the goal.

    The goal's file (``path``) is left out only if it equals the masked file with ``goal_source`` in place of the masked
    definition, character by character and with the same indentation: then the definition shows the whole change.
    """
    lines = masked.source.lines
    before, after = "".join(lines[: masked.first_line - 1]), "".join(lines[masked.last_line :])
    alone = masked.source.mark.decode() + before + goal_source + after
    is_alone = files.get(path) == alone and _indentation(goal_source) == _indentation(masked.text)
    return {name: text for name, text in files.items() if name != path or not is_alone}


def other_changes(diff: str, *, path: str, others: Collection[str]) -> str:
    """Return git's ``diff`` without the part of the goal's file (``path``), unless it is one of ``others``."""
    if path in others:
        return diff
    # Lines of content begin with a blank or a sign, so only git's headers begin like this.
    head, *parts = f"\n{diff}".split(f"\n{_PART}")
    kept = [part for part in parts if part.partition("\n")[0] != f"a/{path} b/{path}"]
    return "\n".join([*([head[1:]] if head[1:] else []), *(_PART + part for part in kept)])


def _indentation(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t\f"))]
