"""What a bundle and an answer are, before anything is stored. No Django here."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from benchmark_tasks.domain.goals import Goal

LARGEST_TRIAL = 20
NOT_ATTEMPTED = "There is no answer here (it is null or empty): this counts as not attempted."
_PAPER = re.compile(r"(?:[0-9]+-)?([a-z0-9][a-z0-9._-]{0,79})")
_TASK = re.compile(r"([^/]+)/0*([1-9][0-9]{0,2})")


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
class AppliedAnswer:
    """An answer applied to the masked repository, in the form that is stored and evaluated.

    ``files`` maps each changed or added repository path to its whole new text; ``deleted`` lists removed paths;
    ``diff`` is the unified diff made from the resulting tree (for people); ``goal_source`` the goal's source after it;
    ``identical`` whether the goal is the golden definition and nothing else is changed; ``similarity`` how
    much of its code is in the goal (empty without one). Texts keep their line ends and byte order mark: write them with
    ``text.encode()``, never in text mode. Of a diff, ``aside`` is what was left out of it, and ``notes`` are sentences
    on what was converted before it applied.
    """

    files: dict[str, str]
    deleted: tuple[str, ...]
    diff: str
    goal_source: str
    identical: bool = False
    similarity: Mapping[str, float] = field(default_factory=dict)
    aside: tuple[SetAside, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """One answer as it lay in the bundle, and what came of trying it: ``applied``, or the ``problem`` with it.

    Of a modified repository ``content`` is the unified diff, ``files`` what it was made from (repository path to whole
    new content), ``wrong`` why nothing can be made of it, and ``aside`` what was left out.
    """

    # For the way out of the child, which is JSON.
    __pydantic_config__: ClassVar[dict[str, str]] = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}

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
    applied: AppliedAnswer | None = None
    problem: Problem | None = None


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
    weights: str = ""
    knowledge_cutoff: str = ""


@dataclass(frozen=True, slots=True)
class BundleReading:
    """As much of a file of answers as could be read, and everything that is wrong with it or to be remarked.

    Fields of ``manifest`` that are wrong are empty; it is None where there is none that reads. ``described`` says that
    it came with the file, not in it (predictions, output trees). ``left_out`` is how many more problems there were.
    ``unreadable`` is what could not be read to its end, and has no answers. ``trials`` is the highest trial that it
    names, even where that one holds no answer.
    """

    manifest: Manifest | None
    answers: tuple[RawAnswer, ...]
    problems: tuple[Problem, ...] = ()
    left_out: int = 0
    described: bool = False
    unreadable: bool = False
    trials: int = 1

    @property
    def refused(self) -> bool:
        """Whether anything stops it as a whole."""
        return self.manifest is None or any(problem.severity is Severity.REFUSE for problem in self.problems)

    def digest(self) -> str:
        """SHA-256 (hexadecimal) of the content, so that packing the same files again gives the same."""
        described: dict[str, object] = {
            "manifest": self.manifest and asdict(self.manifest),
            "answers": [
                {
                    "task": answer.task,
                    "trial": answer.trial,
                    "kind": answer.kind,
                    "content": hashlib.sha256(answer.content).hexdigest(),
                    "usage": answer.usage,
                    "trajectory": hashlib.sha256(answer.trajectory or b"").hexdigest(),
                }
                for answer in self.answers
            ],
        }
        if self.trials > max((answer.trial for answer in self.answers), default=1):
            described["trials"] = self.trials
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """What is needed of a task to try an answer on it. ``closed`` says why it takes none (not runnable), if so.

    With the ``reference`` file, answers are compared with the golden definition in it. ``paper_folder`` and
    ``repository_folder`` are how an output tree calls the paper and its repository.
    """

    goal: Goal
    repository: Path
    closed: str = ""
    reference: Path | None = None
    paper_folder: str = ""
    repository_folder: str = ""


def refuse(message: str, *, file: str = "", task: str = "", line: int | None = None) -> Problem:
    """A problem that stops the whole bundle."""
    return Problem(severity=Severity.REFUSE, message=message, task=task, file=file, line=line)


class ProblemList:
    """Collects problems up to a bound, so that a hostile bundle cannot make a page of a million lines."""

    def __init__(self, bound: int = 100) -> None:
        self._bound = bound
        self.kept: list[Problem] = []
        self.left_out = 0

    def add(self, problem: Problem) -> None:
        """Keep ``problem``, or count it as left out when the bound is reached."""
        if len(self.kept) < self._bound:
            self.kept.append(problem)
        else:
            self.left_out += 1

    def extend(self, problems: Iterable[Problem]) -> None:
        """Keep all of ``problems`` that the bound allows."""
        for problem in problems:
            self.add(problem)

    def all(self) -> list[Problem]:
        """Every problem kept, with a last line that says how many more there were."""
        if not self.left_out:
            return list(self.kept)
        more = "1 more problem is" if self.left_out == 1 else f"{self.left_out} more problems are"
        return [*self.kept, refuse(f"{more} not listed; correct these first.")]


def hidden_character(text: str, *, multiline: bool = False) -> str:
    """The first character of ``text`` that a page could not show as itself, as ``U+202E``, or an empty text.

    Control and format characters (direction overrides among them), private and unassigned ones.
    """
    shown = "\n\r\t" if multiline else ""
    unshowable = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")
    bad = next((c for c in text if unicodedata.category(c) in unshowable and c not in shown), "")
    return f"U+{ord(bad):04X}" if bad else ""


def paper_slug(folder: str) -> str:
    """The slug of a paper's folder: small letters, upstream's leading number removed; empty if it is no such name."""
    match = _PAPER.fullmatch(folder.lower())
    return match[1] if match else ""


def task_slug(written: str) -> str:
    """``01-DPO/1`` and ``DPO/01`` as ``dpo/1``; empty if ``written`` is no task name."""
    match = _TASK.fullmatch(written.strip())
    paper = paper_slug(match[1]) if match else ""
    return f"{paper}/{match[2]}" if match and paper else ""


def not_attempted(task: str, file: str) -> Problem:
    """The remark on an answer that is null or empty."""
    return Problem(Severity.REMARK, NOT_ATTEMPTED, task, file)


def task_named(written: str) -> str:
    """A task's name as commands and the API take it, with its suite or without: ``x/01-DPO/1`` as ``x/dpo/1``.

    Returns ``written`` unchanged where it is no task name, such as a pattern.
    """
    suite, slash, rest = written.strip().partition("/") if written.count("/") > 1 else ("", "", written)
    slug = task_slug(rest)
    return f"{suite}{slash}{slug}" if slug else written


def closed_message(reason: str) -> str:
    """The remark on an answer to a task that takes none."""
    return f"This task takes no answers ({reason}), so what is here for it was left out."


class BundleError(Exception):
    """The bundle cannot be read at all, or must be refused. Carries every problem found."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(p.message for p in problems))
        self.problems = problems


class AnswerError(Exception):
    """One answer does not parse or does not apply; scored ``bad_patch`` if it is submitted anyway.

    ``aside`` is what had been left out of it by then.
    """

    def __init__(self, message: str, *, line: int | None = None, file: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.file = file
        self.aside: tuple[SetAside, ...] = ()


class ProtectedPathError(AnswerError):
    """The answer touches what it may not touch. This refuses the bundle."""
