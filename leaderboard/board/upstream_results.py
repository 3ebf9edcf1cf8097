"""Read upstream's folder of published result files. No Django here.

A file is read in full or refused with a reason; a refused file does not affect the others. Source: ``results/`` of the
LMR-BENCH repository.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from leaderboard.board.upstream_texts import (
    MODELS,
    Agent,
    HumanLabel,
    TestOutcome,
    UpstreamFormatError,
    paper_of_folder,
    parse_human_labels,
    parse_judge_answer,
    parse_unit_tests,
    task_slug,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark_tasks.facts.lmr_bench import BenchmarkFacts

TaskResults: TypeAlias = dict[str, dict[str, Any]]
"""Task slug -> the fields of its ``ReportedResult`` that the files have."""

MOST_BYTES: Final = 1_000_000
"""Largest file that is read; upstream's largest has a fiftieth of it."""

MOST_CHARACTERS: Final = 20_000
"""A judge's answer or a comment is cut to this length; upstream's longest has a third of it."""

_TESTS, _JUDGE, _HUMANS = "unit_test_evaluation", "llm_as_a_judge_evaluation", "human_evaluation"
_JUDGE_FILE: Final = re.compile(r"(?P<folder>[^_]+)_(?P<repo>.+)_(?P<index>\d{1,4})_analysis\.txt", re.ASCII)
NEVER_RAN_NOTE: Final = "The tests never ran; upstream counts the task as failed."


class FileFate(StrEnum):
    """The outcome of reading a file."""

    READ = "read"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file: its ``path`` in the results folder, and ``what`` was read in it, or why it was not read."""

    path: str
    fate: FileFate
    what: str


@dataclass(frozen=True, slots=True)
class UpstreamResults:
    """The results of each run (by its slug), and the outcome of each file."""

    runs: dict[str, TaskResults]
    files: tuple[FileReport, ...]


def tests_fields(outcome: TestOutcome) -> dict[str, Any]:
    """Convert a task's outcome to fields of its ``ReportedResult``."""
    note = NEVER_RAN_NOTE if outcome is TestOutcome.NEVER_RAN else ""
    return {"tests_passed": outcome is TestOutcome.PASSED, "tests_note": note}


def read_files(folder: Path, facts: BenchmarkFacts) -> UpstreamResults:
    """Read ``folder``, upstream's ``results`` or its parent folder. A file with errors does not affect the others.

    Raises FileNotFoundError if there is no such folder.
    """
    results = _results_folder(folder)
    reader = _Reader(facts)
    files = tuple(reader.read(results, path) for path in sorted(_files(results)))
    reader.number_annotators()
    runs = {
        _run_slug(agent, model): reader.runs[agent, model]
        for agent in Agent
        for model in MODELS
        if reader.runs[agent, model]
    }
    return UpstreamResults(runs=runs, files=files)


def _run_slug(agent: Agent, model: str) -> str:
    scaffold = "no-agent" if agent is Agent.NONE else "openhands"
    names = {"gpt4o": "gpt-4o", "gpt4.1": "gpt-4.1", "o4mini": "o4-mini", "claude3.7": "claude-3.7"}
    return f"{scaffold}-{names[model]}"


def _results_folder(folder: Path) -> Path:
    if (folder / "results").is_dir():
        return folder / "results"
    if any((folder / name).is_dir() for name in (_TESTS, _JUDGE, _HUMANS)):
        return folder
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise FileNotFoundError(f"{folder} {what}; give the folder of upstream's result files.")
    raise FileNotFoundError(f"{folder.name} holds no folder 'results'; give the folder of upstream's result files.")


def _files(results: Path) -> Iterator[tuple[str, ...]]:
    """Yield the parts of every file's path below ``results``. Links to folders are not followed."""
    for parent, _, names in os.walk(results):
        for name in names:
            yield (Path(parent) / name).relative_to(results).parts


class _Reader:
    """Collect the files' results, and refuse a file that contradicts an earlier one."""

    def __init__(self, facts: BenchmarkFacts) -> None:
        self.runs: dict[tuple[Agent, str], TaskResults] = defaultdict(lambda: defaultdict(dict))
        self._facts = facts
        self._human_files = 0
        self._annotators: dict[str, int] = {}

    def read(self, results: Path, parts: tuple[str, ...]) -> FileReport:
        """Read the file with the path ``parts`` below ``results``."""
        path = "/".join(parts)
        try:
            match parts:
                case (_, *_, name) | (name,) if name.startswith("."):
                    return FileReport(path, FileFate.SKIPPED, "a hidden file")
                case (rater, agent, model, "results.txt") if rater == _TESTS and _is_run(agent, model):
                    what = self._read_tests(results / path, (Agent(agent), model))
                case (rater, agent, model, name) if rater == _JUDGE and _is_run(agent, model):
                    if name == "summary.txt":
                        return FileReport(path, FileFate.SKIPPED, "counts only a part of the answers beside it")
                    if not name.endswith("_analysis.txt"):
                        return FileReport(path, FileFate.SKIPPED, "unknown: not called …_analysis.txt")
                    what = self._read_judge(results / path, (Agent(agent), model))
                case (rater, name) if rater == _HUMANS and name.endswith(".json"):
                    what = self._read_humans(results / path)
                case _:
                    return FileReport(path, FileFate.SKIPPED, "unknown: upstream keeps no results here")
        except UpstreamFormatError as error:
            return FileReport(path, FileFate.REFUSED, str(error))
        return FileReport(path, FileFate.READ, what)

    def number_annotators(self) -> None:
        """Number the annotators by their first task in the benchmark's order: the order of files would reveal names."""
        numbers: dict[int, int] = {}
        for task in self._facts.tasks:
            if task.slug in self._annotators:
                number = numbers.setdefault(self._annotators[task.slug], len(numbers) + 1)
                for results in self.runs.values():
                    if "human_label" in results.get(task.slug, ()):
                        results[task.slug]["human_annotator"] = number

    def _read_tests(self, path: Path, run: tuple[Agent, str]) -> str:
        where = _where(path)
        outcomes = parse_unit_tests(_text(path, where=where), facts=self._facts, where=where)
        for task, outcome in outcomes.items():
            self.runs[run][task].update(tests_fields(outcome))
        counts = Counter(outcomes.values())
        passed, failed, never = (counts[each] for each in TestOutcome)
        return f"{_tasks(len(outcomes))}, {passed} passed, {failed + never} failed, {never} of these never ran"

    def _read_judge(self, path: Path, run: tuple[Agent, str]) -> str:
        where = _where(path)
        match = _JUDGE_FILE.fullmatch(path.name)
        if match is None:
            raise UpstreamFormatError(f"{where}: expected a name <folder>_<repository>_<index>_analysis.txt.")
        paper = paper_of_folder(match["folder"], facts=self._facts, place=where)
        if match["repo"] != paper.repo_folder_name:
            raise UpstreamFormatError(f"{where}: expected the repository folder {paper.repo_folder_name!r}.")
        task = task_slug(paper, int(match["index"]) + 1, place=where)
        if "judge_label" in self.runs[run].get(task, ()):
            raise UpstreamFormatError(f"{where}: second answer of the judge for {task}.")
        text = _text(path, where=where)
        label = parse_judge_answer(text, where=where)
        self.runs[run][task].update(judge_label=label.value, judge_text=text[:MOST_CHARACTERS])
        cut = "" if len(text) <= MOST_CHARACTERS else f", cut to {MOST_CHARACTERS} of {len(text)} characters"
        return f"{task}: {label}{cut}"

    def _read_humans(self, path: Path) -> str:
        """Read one annotator's file. Errors give its number: its name is the annotator's."""
        self._human_files += 1
        annotator, where = self._human_files, f"{_HUMANS}, file {self._human_files}"
        entries = parse_human_labels(_text(path, where=where), facts=self._facts, where=where)
        new: dict[tuple[Agent, str, str], HumanLabel] = {}
        for entry in entries:
            if self._annotators.get(entry.task, annotator) != annotator:
                raise UpstreamFormatError(f"{where}: {entry.task} has a second annotator.")
            if (entry.agent, entry.model, entry.task) in new:
                name = f"{entry.agent} {entry.model} {entry.task}"
                raise UpstreamFormatError(f"{where}: more than one label for {name}.")
            new[entry.agent, entry.model, entry.task] = entry
        for (agent, model, task), entry in new.items():
            comment = entry.comment[:MOST_CHARACTERS]
            self.runs[agent, model][task].update(human_label=entry.label.value, human_comment=comment)
            self._annotators[task] = annotator
        comments = sum(bool(entry.comment.strip()) for entry in entries)
        return f"{len(entries)} labels of {_tasks(len({entry.task for entry in entries}))}, {comments} comments"


def _is_run(agent: str, model: str) -> bool:
    return agent in set(Agent) and model in MODELS


def _where(path: Path) -> str:
    return "/".join(path.parts[-3:])


def _tasks(number: int) -> str:
    return f"{number} task{'' if number == 1 else 's'}"


def _text(path: Path, *, where: str) -> str:
    """Read the file's text without a byte order mark, with line feeds as line ends. Raises UpstreamFormatError."""
    try:
        if not path.is_file() or path.is_symlink():
            raise UpstreamFormatError(f"{where}: not a plain file.")
        if path.stat().st_size > MOST_BYTES:
            raise UpstreamFormatError(f"{where}: larger than {MOST_BYTES:,} bytes.")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UpstreamFormatError(f"{where}: not UTF-8 text.") from error
    except OSError as error:
        raise UpstreamFormatError(f"{where}: cannot be read ({error.strerror}).") from error
