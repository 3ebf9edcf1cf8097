"""Parse upstream's result files: unit test lists, judge answers, annotators' labels. No Django here.

Several scripts and people wrote the files, so every parser here is strict: an unknown form raises UpstreamFormatError,
and nothing is guessed. Source: ``results/`` of the LMR-BENCH repository.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from evaluator.labels import Label

if TYPE_CHECKING:
    from benchmark_tasks.facts.lmr_bench import BenchmarkFacts, PaperFacts

MODELS: Final = ("gpt4o", "gpt4.1", "o4mini", "claude3.7")


class UpstreamFormatError(ValueError):
    """Raised for a published file in an unknown format. The message names the file and what was expected."""


class Agent(StrEnum):
    """The agent that upstream ran the model with; values are the folder names of its results."""

    NONE = "BaseAgent"
    OPENHANDS = "OpenHands"


class TestOutcome(StrEnum):
    """The outcome of one task in the unit test list. ``NEVER_RAN`` counts as failed."""

    __test__ = False  # the name starts with "Test", but pytest has nothing to collect here

    PASSED = "passed"
    FAILED = "failed"
    NEVER_RAN = "never_ran"


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """An entry of an annotator's file. The annotator's name in the file is never read."""

    agent: Agent
    model: str
    task: str
    label: Label
    comment: str


_CODES: Final = {1: Label.LI, 2: Label.LC, 3: Label.CC}
_AGENT_TYPES: Final = {"no_agent": Agent.NONE, "openhands_agent": Agent.OPENHANDS}

_LOG_LINE: Final = re.compile(
    r"(?P<folder>[^/]+)/unit_test(?:_(?P<index>[1-9]\d{0,3}))?\.log: "
    r"(?:(?P<passed>PASS(?: fail_count: 0)?)|FAIL \(found \d+ failure lines\))",
    re.ASCII,
)
_MISSING_LINE: Final = re.compile(r"(?P<path>/.+)/unit_test/logs is not a directory")
_FOOTER_LINE: Final = re.compile(
    r"(?P<name>Total log files|Passed files|Failed files|Overall pass rate): +(?P<value>[\d.]{1,9})%?", re.ASCII
)
_FENCED: Final = re.compile(r"```json\n(?P<body>.*)\n```", re.DOTALL)


def parse_unit_tests(text: str, *, facts: BenchmarkFacts, where: str) -> dict[str, TestOutcome]:
    """Return task slug -> outcome of one ``results.txt``, whose totals must agree with its lines.

    Four forms of lines are known: ``PASS``, ``PASS fail_count: 0``, ``FAIL (found N failure lines)``, and
    ``/…/<folder>/<repository>/unit_test/logs is not a directory``, which means that the paper's tests never ran.
    """
    outcomes: dict[str, TestOutcome] = {}
    footer: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        place = f"{where}, line {number}"
        if footer_line := _FOOTER_LINE.fullmatch(line):
            footer[footer_line["name"]] = footer_line["value"]
        elif line.strip():
            found = _parse_test_line(line, facts=facts, place=place)
            if repeated := found.keys() & outcomes.keys():
                raise UpstreamFormatError(f"{place}: second result for {', '.join(sorted(repeated))}.")
            outcomes.update(found)
    counted = (len(outcomes), Counter(outcomes.values())[TestOutcome.PASSED])
    stated = (footer.get("Total log files"), footer.get("Passed files"))
    if stated != tuple(str(count) for count in counted):
        raise UpstreamFormatError(f"{where}: total and passed are stated as {stated}, but the lines give {counted}.")
    return outcomes


def parse_judge_answer(text: str, *, where: str) -> Label:
    """Return the judge's label: ``category`` of a JSON object, plain or fenced, or else the digit in the last line."""
    answer = text.strip()
    fenced = _FENCED.fullmatch(answer)
    body = fenced["body"] if fenced else answer
    if body.lstrip().startswith("{"):
        return _label_of_code(_json(body, where=where, expected=dict).get("category"), where=where)
    return _label_of_code(answer.rpartition("\n")[2].strip(), where=where)


def parse_human_labels(text: str, *, facts: BenchmarkFacts, where: str) -> list[HumanLabel]:
    """Return all entries of one annotator's file. Codes are 1 (LI) to 3 (CC), in one file 0 to 2.

    A 0 or a 3 in the file shows which it uses; a file with both, or with neither, is refused, since its labels could be
    off by one.
    """
    entries = _json(text, where=where, expected=list)
    if not all(isinstance(entry, dict) for entry in entries):
        raise UpstreamFormatError(f"{where}: expected a list of objects only.")
    codes = [entry.get("human_judge_result") for entry in entries]
    if (0 in codes) == (3 in codes):
        raise UpstreamFormatError(f"{where}: unclear whether the labels run from 0 to 2 or from 1 to 3.")
    offset = 1 if 0 in codes else 0
    return [
        _human_label(entry, offset=offset, facts=facts, where=f"{where}, entry {number}")
        for number, entry in enumerate(entries, start=1)
    ]


def _parse_test_line(line: str, *, facts: BenchmarkFacts, place: str) -> dict[str, TestOutcome]:
    if match := _LOG_LINE.fullmatch(line):
        paper = paper_of_folder(match["folder"], facts=facts, place=place)
        slug = task_slug(paper, int(match["index"] or 1), place=place)
        return {slug: TestOutcome.PASSED if match["passed"] else TestOutcome.FAILED}
    if match := _MISSING_LINE.fullmatch(line):
        parts = match["path"].split("/")
        paper = paper_of_folder(parts[-2], facts=facts, place=place)
        # All tests of a paper share a log folder: without it, none of them ran.
        return {task.slug: TestOutcome.NEVER_RAN for task in paper.tasks}
    raise UpstreamFormatError(f"{place}: not one of the four known shapes of a unit test line.")


def _human_label(entry: dict[str, Any], *, offset: int, facts: BenchmarkFacts, where: str) -> HumanLabel:
    try:
        agent = _AGENT_TYPES[entry["agent_type"]]
        model, paper_number, function = entry["model_name"], entry["paper_index"], entry["function_index"]
        code, comment = entry["human_judge_result"], entry.get("comment", "")
    except (KeyError, TypeError) as error:
        raise UpstreamFormatError(f"{where}: missing or unknown value ({error}).") from error
    if model not in MODELS or any(type(value) is not int for value in (paper_number, function, code)):
        raise UpstreamFormatError(f"{where}: unknown model, or an index or label that is not a whole number.")
    paper = facts.paper_of_number(paper_number)
    if paper is None:
        raise UpstreamFormatError(f"{where}: paper {paper_number} is not one of the benchmark's papers.")
    task = task_slug(paper, function + 1, place=where)
    if type(comment) is not str:
        raise UpstreamFormatError(f"{where}: expected a comment that is text.")
    label = _label_of_code(code + offset, where=where)
    return HumanLabel(agent=agent, model=model, task=task, label=label, comment=comment)


def paper_of_folder(folder_name: str, *, facts: BenchmarkFacts, place: str) -> PaperFacts:
    """Return the paper of a folder such as ``1-DPO``. Raises UpstreamFormatError for another folder."""
    paper = facts.paper_of_folder(folder_name)
    if paper is None:
        raise UpstreamFormatError(f"{place}: folder {folder_name[:60]!r} is not one of the benchmark's papers.")
    return paper


def task_slug(paper: PaperFacts, index: int, *, place: str) -> str:
    """Return the slug of a paper's task by its number, from 1. Raises UpstreamFormatError for an unknown number."""
    if not 1 <= index <= len(paper.tasks):
        raise UpstreamFormatError(f"{place}: {paper.slug} has {len(paper.tasks)} tasks, no number {index}.")
    return paper.tasks[index - 1].slug


def _label_of_code(code: object, *, where: str) -> Label:
    text = str(code) if type(code) in (int, str) else ""
    label = {str(number): label for number, label in _CODES.items()}.get(text)
    if label is None:
        raise UpstreamFormatError(f"{where}: expected a label code 1, 2 or 3.")
    return label


def _json(text: str, *, where: str, expected: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UpstreamFormatError(f"{where}: not JSON ({error}).") from error
    if type(value) is not expected:
        raise UpstreamFormatError(f"{where}: expected a JSON {expected.__name__}.")
    return value
