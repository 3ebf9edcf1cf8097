"""Saying what is wrong with a bundle on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from submissions.answers.types import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator


def lines(report: dict[str, Any]) -> Iterator[str]:
    """One line a problem, refusals first, then a summary. ``report`` is that of ``CheckedBundle.report``."""
    problems = sorted(report["problems"], key=lambda problem: problem["severity"] != Severity.REFUSE)
    for problem in problems:
        place = ":".join(str(part) for part in (problem["file"], problem["line"]) if part)
        where = " ".join(part for part in (problem["task"], place) if part)
        word = "refused" if problem["severity"] == Severity.REFUSE else "bad_patch if sent"
        yield f"{word}: {where + ': ' if where else ''}{problem['message']}"
    applying = sum(answer["applies"] for answer in report["answers"])
    verdict = "can be submitted" if report["acceptable"] else "cannot be submitted"
    yield f"{verdict}: {applying} of {len(report['answers'])} answers apply"
