"""Saying what is wrong with a bundle on a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from submissions.domain.reports import lines


def report(
    *applies: bool, acceptable: bool = False, suite: str = "small", version: int | None = 1, **problem: Any
) -> dict[str, Any]:
    empty = {"severity": "refuse", "message": "No.", "task": "", "file": "", "line": None}
    return {
        "acceptable": acceptable,
        "manifest": {"suite": suite} if suite else {},
        "suite_version": version,
        "answers": [{"applies": each} for each in applies],
        "problems": [{**empty, **problem}] if problem else [],
    }


@pytest.mark.parametrize(
    ("given", "summary"),
    [
        (report(suite="", version=None), "cannot be submitted: the bundle could not be read"),
        (report(), "cannot be submitted: no answer could be read"),
        (report(False, version=None), "cannot be submitted: the 1 answer was not tried"),
        (report(False, False, version=None), "cannot be submitted: the 2 answers were not tried"),
        (report(True, acceptable=True), "can be submitted: 1 of 1 answer applies"),
        (report(False, acceptable=True), "can be submitted: 0 of 1 answer applies"),
        (report(True, False, acceptable=True), "can be submitted: 1 of 2 answers applies"),
        (report(True, True, False), "cannot be submitted: 2 of 3 answers apply"),
    ],
)
def test_the_summary_counts_in_plain_english(given: dict[str, Any], summary: str) -> None:
    assert list(lines(given)) == [summary]


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (
            {"file": "line 3", "message": "Not usable at column 1: not JSON."},
            "refused: line 3: Not usable at column 1: not JSON.",
        ),
        ({"file": "submission.json", "line": 2}, "refused: submission.json:2: No."),
        (
            {"severity": "bad_answer", "task": "a/1", "file": "line 3, function", "line": 2},
            "bad_patch if sent: a/1 line 3, function:2: No.",
        ),
        ({"message": "Nothing."}, "refused: Nothing."),
    ],
)
def test_a_problem_says_its_place_once(problem: dict[str, Any], line: str) -> None:
    assert next(iter(lines(report(**problem)))) == line
