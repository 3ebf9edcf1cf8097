"""Saying what is wrong with a bundle on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from submissions.answers.types import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = {
    Severity.REFUSE: "refused",
    Severity.BAD_ANSWER: "bad_patch if sent",
    Severity.REMARK: "remark",
}


def lines(report: dict[str, Any]) -> Iterator[str]:
    """One line a problem, refusals first, then a summary. ``report`` is that of ``CheckedBundle.report``."""
    yield from problem_lines(report["problems"])
    verdict = "can be submitted" if report["acceptable"] else "cannot be submitted"
    yield f"{verdict}: {_answers(report)}"


def problem_lines(problems: list[dict[str, Any]]) -> Iterator[str]:
    """One line for each of a report's problems, refusals first and remarks last."""
    for problem in sorted(problems, key=lambda problem: list(_WORDS).index(Severity(problem["severity"]))):
        place = ":".join(str(part) for part in (problem["file"], problem["line"]) if part)
        where = " ".join(part for part in (problem["task"], place) if part)
        word = _WORDS[Severity(problem["severity"])]
        yield f"{word}: {where + ': ' if where else ''}{problem['message']}"


def _answers(report: dict[str, Any]) -> str:
    total = len(report["answers"])
    applying = sum(answer["applies"] for answer in report["answers"])
    if not total:
        return "no answer could be read" if report["manifest"].get("suite") else "the bundle could not be read"
    if report["suite_version"] is None:
        return "the 1 answer was not tried" if total == 1 else f"the {total} answers were not tried"
    noun = "answer" if total == 1 else "answers"
    return f"{applying} of {total} {noun} {'applies' if 1 in (applying, total) else 'apply'}"
