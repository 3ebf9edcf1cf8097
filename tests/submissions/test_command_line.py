"""What the commands ``validate`` and ``submit`` share."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import pytest

from submissions.answers.types import Manifest
from submissions.domain.command_line import add_manifest_arguments, lines
from submissions.domain.uploads import described_by


def described(*arguments: str) -> Manifest | None:
    parser = ArgumentParser()
    add_manifest_arguments(parser)
    return described_by(vars(parser.parse_args(arguments)))


def test_every_field_has_an_option() -> None:
    manifest = described(
        *("--suite", "small", "--system", "S", "--backbone", "b", "--scaffold", "agent", "--inputs", "paper_only"),
        *("--organisation", "O", "--links", "https://a.example", "--links", "https://b.example", "--notes", "none"),
    )
    links = ("https://a.example", "https://b.example")
    assert manifest == Manifest("small", None, "S", "b", "agent", "paper_only", "O", links, "none", "ranked")


def test_without_a_suite_nothing_is_described() -> None:
    assert described("--system", "S") is None


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
        (report(False, False, version=None), "cannot be submitted: the 2 answers were not tried"),
        (report(True, False, acceptable=True), "can be submitted: 1 of 2 answers applies"),
    ],
)
def test_the_summary_counts_in_plain_english(given: dict[str, Any], summary: str) -> None:
    assert list(lines(given)) == [summary]


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        ({"file": "submission.json", "line": 2}, "refused: submission.json:2: No."),
        (
            {"severity": "bad_answer", "task": "a/1", "file": "line 3, function", "line": 2},
            "bad_patch if sent: a/1 line 3, function:2: No.",
        ),
    ],
)
def test_a_problem_says_its_place_once(problem: dict[str, Any], line: str) -> None:
    assert next(iter(lines(report(**problem)))) == line
