"""What an answer changes besides the goal, which every rater must see with it. Nothing of the answer is parsed here."""

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
    """The answer's difference without the goal itself; all of it where the masked file is not here.

    Empty where no goal was found in the answer, since all of it is shown then.
    """
    if not answer.goal_source:
        return ""
    others = _others(answer)
    diff = answer.diff if others is None else other_changes(answer.diff, path=answer.revision.goal_file, others=others)
    return code_with_visible_marks(diff.rstrip("\n"))


def changes_more(answer: Implementation) -> bool:
    """Whether the answer changes anything but the goal; false where that cannot be told."""
    return bool(answer.goal_source and (_others(answer) or answer.deleted))


def _others(answer: Implementation) -> dict[str, str] | None:
    """What differs beside the goal; ``None`` where the masked file is not here."""
    try:
        masked = masked_definition(answer.revision)
    except UNREADABLE:
        return None
    path, files = answer.revision.goal_file, answer.files or {}
    return other_files(masked, path=path, files=files, goal_source=answer.goal_source)


def other_files(masked: FoundGoal, *, path: str, files: Mapping[str, str], goal_source: str) -> dict[str, str]:
    """The files of ``files`` (repository path to new text) that differ from the masked repository beside the goal.

    The goal's own file (``path``) is left out only where it is the masked file with ``goal_source`` in the place of
    the masked definition, character by character, and as far indented: then the definition alone says everything.
    """
    lines = masked.source.lines
    before, after = "".join(lines[: masked.first_line - 1]), "".join(lines[masked.last_line :])
    alone = masked.source.mark.decode() + before + goal_source + after
    is_alone = files.get(path) == alone and _indentation(goal_source) == _indentation(masked.text)
    return {name: text for name, text in files.items() if name != path or not is_alone}


def other_changes(diff: str, *, path: str, others: Collection[str]) -> str:
    """``diff`` (as git writes it) without the part of the goal's file (``path``), unless it is one of ``others``."""
    if path in others:
        return diff
    # Within a part every line begins with a blank or a sign, so only git's own headers begin like this.
    head, *parts = f"\n{diff}".split(f"\n{_PART}")
    kept = [part for part in parts if part.partition("\n")[0] != f"a/{path} b/{path}"]
    return "\n".join([*([head[1:]] if head[1:] else []), *(_PART + part for part in kept)])


def _indentation(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t\f"))]
