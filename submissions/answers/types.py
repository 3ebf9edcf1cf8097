"""What a bundle and an answer are, before anything is stored. No Django here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Severity(StrEnum):
    """``REFUSE`` stops the whole bundle; ``BAD_ANSWER`` scores one answer ``bad_patch`` if it is sent anyway.

    ``REMARK`` stops nothing: it says what of an output tree was left aside.
    """

    REFUSE = "refuse"
    BAD_ANSWER = "bad_answer"
    REMARK = "remark"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a bundle: where it is and what to do about it."""

    severity: Severity
    message: str
    task: str = ""
    file: str = ""
    line: int | None = None


class AnswerKind(StrEnum):
    """How an answer came: a unified diff, the source of the goal definition, or a whole modified repository."""

    DIFF = "diff"
    SOURCE = "source"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class SetAside:
    """A change that came with an answer and is no part of it: why, in which file, and the change itself (a diff)."""

    message: str
    file: str
    diff: str = ""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """One answer as it lay in the bundle, not yet applied to anything.

    Of a modified repository ``content`` is the unified diff, ``files`` what it was made from (repository path to whole
    new content), ``wrong`` why nothing can be made of it, and ``aside`` what was left out.
    """

    task: str
    trial: int
    kind: AnswerKind
    content: bytes
    file: str
    usage: dict[str, float] = field(default_factory=dict)
    trajectory: bytes | None = None
    trajectory_name: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    wrong: str = ""
    aside: tuple[SetAside, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """``submission.json``: what was run, by whom, on what. All text is already stripped and length-checked."""

    suite: str
    suite_version: int | None
    system: str
    backbone: str
    scaffold: str
    inputs: str
    organisation: str
    links: tuple[str, ...]
    notes: str
    kind: str = "ranked"


@dataclass(frozen=True, slots=True)
class AppliedAnswer:
    """An answer applied to the masked repository, in the form that is stored and evaluated.

    ``files`` maps each changed or added repository path to its whole new text; ``deleted`` lists removed paths;
    ``diff`` is the unified diff made from the resulting tree (for people); ``goal_source`` the goal
    definition's source afterwards; ``goal_alone`` whether nothing else is changed, but for comments, docstrings and
    formatting; ``identical`` whether the goal is then also the golden definition. Texts keep their line ends and byte
    order mark: write them with ``text.encode()``, never in text mode.
    """

    files: dict[str, str]
    deleted: tuple[str, ...]
    diff: str
    goal_source: str
    goal_alone: bool
    identical: bool = False


def closed_message(reason: str) -> str:
    """What is said of an answer to a task that takes none."""
    return f"This task takes no answers ({reason}), so what is here for it was left out."


class BundleError(Exception):
    """The bundle cannot be read at all, or must be refused. Carries every problem found."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = problems


class AnswerError(Exception):
    """One answer does not parse or does not apply; scored ``bad_patch`` if it is submitted anyway."""

    def __init__(self, message: str, *, line: int | None = None, file: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.file = file


class ProtectedPathError(AnswerError):
    """The answer touches what it may not touch. This refuses the bundle."""
