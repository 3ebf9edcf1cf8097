"""Upstream's result files as they were published, read folder by folder. No Django here.

A file is read whole or refused with its reason, and the others are read all the same: ``read_files``. The shipped facts
are made from files of which none may be refused and nothing be missing: ``read_upstream``. Source: ``results/`` of the
LMR-BENCH repository.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from leaderboard.published.upstream_texts import (
    MODELS,
    MOST_CHARACTERS,
    Agent,
    HumanLabel,
    JudgeAnswer,
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
    from evaluator.judging.labels import Label

RunKey: TypeAlias = tuple[Agent, str]
"""An agent and upstream's name of a model."""

MOST_BYTES: Final = 1_000_000
"""Upstream's largest file has a fiftieth of it."""

_TESTS, _JUDGE, _HUMANS = "unit_test_evaluation", "llm_as_a_judge_evaluation", "human_evaluation"
_JUDGE_FILE: Final = re.compile(r"(?P<folder>[^_]+)_(?P<repo>.+)_(?P<index>\d{1,4})_analysis\.txt", re.ASCII)


class FileFate(StrEnum):
    """What became of a file."""

    READ = "read"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file: ``path`` from the results folder on, and what was read of it, or why it was not."""

    path: str
    fate: FileFate
    what: str


@dataclass(frozen=True, slots=True)
class UpstreamRun:
    """One agent with one model: task slug -> result, for each rater. A rater without files has an empty mapping.

    ``judge_texts`` and ``human_comments`` are the raters' own words.
    """

    agent: Agent
    model: str
    tests: Mapping[str, TestOutcome]
    judge: Mapping[str, Label]
    human: Mapping[str, Label]
    judge_texts: Mapping[str, str] = field(default_factory=dict)
    human_comments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UpstreamResults:
    """All runs with at least one file, which annotator (a number, not a name) labelled each task, and every file."""

    runs: tuple[UpstreamRun, ...]
    annotators: Mapping[str, int]
    files: tuple[FileReport, ...]


def read_upstream(folder: Path, facts: BenchmarkFacts) -> UpstreamResults:
    """Read all of ``folder``. Raises UpstreamFormatError for a file in an unknown shape, or when a rater's results are
    incomplete; FileNotFoundError as ``read_files``.
    """
    found = read_files(folder, facts)
    for file in found.files:
        if file.fate is FileFate.REFUSED:
            raise UpstreamFormatError(file.what)
    for run in found.runs:
        for rater, missing in missing_tasks(run, facts).items():
            raise UpstreamFormatError(f"{run.agent} {run.model}, {rater}: no result for {', '.join(missing)}.")
    return found


def missing_tasks(run: UpstreamRun, facts: BenchmarkFacts) -> dict[str, list[str]]:
    """Rater -> the tasks without a result of its, for the raters that have some results but not all."""
    expected = {task.slug for task in facts.tasks}
    raters = {"tests": run.tests.keys(), "judge": run.judge.keys(), "human": run.human.keys()}
    return {rater: sorted(expected - found) for rater, found in raters.items() if found and expected - found}


def read_files(folder: Path, facts: BenchmarkFacts) -> UpstreamResults:
    """Read ``folder``, upstream's ``results`` or the folder that holds it; a bad file does not stop the others.

    Raises FileNotFoundError where there is no such folder.
    """
    results = _results_folder(folder)
    reader = _Reader(facts)
    files = [reader.read(results, path) for path in sorted(_files(results))]
    return UpstreamResults(runs=tuple(reader.runs()), annotators=reader.annotators, files=tuple(files))


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
    """The parts of every file's path below ``results``. Links to folders are not followed."""
    for parent, _, names in os.walk(results):
        for name in names:
            yield (Path(parent) / name).relative_to(results).parts


class _Reader:
    """Collects what the files say, and refuses a file that contradicts an earlier one."""

    def __init__(self, facts: BenchmarkFacts) -> None:
        self.annotators: dict[str, int] = {}
        self._facts = facts
        self._human_files = 0
        self._tests: dict[RunKey, dict[str, TestOutcome]] = defaultdict(dict)
        self._judge: dict[RunKey, dict[str, JudgeAnswer]] = defaultdict(dict)
        self._human: dict[RunKey, dict[str, HumanLabel]] = defaultdict(dict)

    def runs(self) -> Iterator[UpstreamRun]:
        """Each run of which something was read."""
        for key in ((agent, model) for agent in Agent for model in MODELS):
            tests, judge, human = self._tests.get(key, {}), self._judge.get(key, {}), self._human.get(key, {})
            if tests or judge or human:
                yield UpstreamRun(
                    agent=key[0],
                    model=key[1],
                    tests=tests,
                    judge={task: answer.label for task, answer in judge.items()},
                    human={task: line.label for task, line in human.items()},
                    judge_texts={task: answer.text for task, answer in judge.items()},
                    human_comments={task: line.comment for task, line in human.items()},
                )

    def read(self, results: Path, parts: tuple[str, ...]) -> FileReport:
        """Read one file, by its place."""
        path = "/".join(parts)
        try:
            match parts:
                case (_, *_, name) | (name,) if name.startswith("."):
                    return FileReport(path, FileFate.SKIPPED, "a hidden file of somebody's computer")
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

    def _read_tests(self, path: Path, run: RunKey) -> str:
        where = _where(path)
        outcomes = parse_unit_tests(_text(path, where=where), facts=self._facts, where=where)
        self._tests[run] = outcomes
        counts = Counter(outcomes.values())
        passed, failed, never = (counts[each] for each in TestOutcome)
        return f"{_tasks(len(outcomes))}, {passed} passed, {failed + never} failed, {never} of these never ran"

    def _read_judge(self, path: Path, run: RunKey) -> str:
        where = _where(path)
        match = _JUDGE_FILE.fullmatch(path.name)
        if match is None:
            raise UpstreamFormatError(f"{where}: expected a name <folder>_<repository>_<index>_analysis.txt.")
        paper = paper_of_folder(match["folder"], facts=self._facts, place=where)
        if match["repo"] != paper.repo_folder_name:
            raise UpstreamFormatError(f"{where}: expected the repository folder {paper.repo_folder_name!r}.")
        task = task_slug(paper, int(match["index"]) + 1, place=where)
        if task in self._judge[run]:
            raise UpstreamFormatError(f"{where}: second answer of the judge for {task}.")
        text = _text(path, where=where)
        label = parse_judge_answer(text, where=where)
        self._judge[run][task] = JudgeAnswer(label, text[:MOST_CHARACTERS])
        return f"{task}: {label}{_cut(text)}"

    def _read_humans(self, path: Path) -> str:
        """One annotator's file. It is named by its number: errors must not tell who that was."""
        self._human_files += 1
        annotator, where = self._human_files, f"{_HUMANS}, file {self._human_files}"
        lines = parse_human_labels(_text(path, where=where), facts=self._facts, where=where)
        new: dict[tuple[RunKey, str], HumanLabel] = {}
        for line in lines:
            run = (line.agent, line.model)
            if self.annotators.get(line.task, annotator) != annotator:
                raise UpstreamFormatError(f"{where}: {line.task} has a second annotator.")
            if (run, line.task) in new:
                name = f"{line.agent} {line.model} {line.task}"
                raise UpstreamFormatError(f"{where}: more than one label for {name}.")
            new[run, line.task] = line
        for (run, task), line in new.items():
            self._human[run][task] = line
            self.annotators[task] = annotator
        comments = sum(bool(line.comment.strip()) for line in lines)
        tasks = _tasks(len({line.task for line in lines}))
        return f"{len(lines)} labels of {tasks}, {comments} comments"


def _is_run(agent: str, model: str) -> bool:
    return agent in set(Agent) and model in MODELS


def _where(path: Path) -> str:
    return "/".join(path.parts[-3:])


def _tasks(number: int) -> str:
    return f"{number} task{'' if number == 1 else 's'}"


def _cut(text: str) -> str:
    return "" if len(text) <= MOST_CHARACTERS else f", cut to {MOST_CHARACTERS} of {len(text)} characters"


def _text(path: Path, *, where: str) -> str:
    """The file's text without a byte order mark, and with plain line ends. Raises UpstreamFormatError."""
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
