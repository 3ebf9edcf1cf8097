"""A verdict: what is asked for, what is taken for one, and what several votes say together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.judging.labels import Label, is_split, majority
from evaluator.judging.prompt import SCHEMA
from evaluator.judging.verdicts import LONGEST_TEXT, MOST_FINDINGS, VerdictError, parse

FINDING = {"point": "The sign is wrong.", "severity": "fatal", "lines": "3-4"}
GOOD: dict[str, Any] = {
    "findings": [FINDING],
    "injection_suspected": False,
    "verdict": "LI",
    "rationale": ["The sign is wrong.", "So the loss grows."],
}


def changed(**members: Any) -> str:
    return json.dumps({**GOOD, **members})


def test_the_schema_asks_for_the_analysis_first_and_is_strict() -> None:
    assert list(SCHEMA["properties"]) == ["findings", "injection_suspected", "verdict", "rationale"]
    assert SCHEMA["properties"]["verdict"] == {"type": "string", "enum": ["LI", "LC", "CC"]}
    for each in (SCHEMA, SCHEMA["properties"]["findings"]["items"]):
        assert each["required"] == list(each["properties"])
        assert each["additionalProperties"] is False


def test_a_verdict_is_read() -> None:
    verdict = parse(json.dumps(GOOD))
    assert verdict.label is Label.LI
    assert [finding.model_dump() for finding in verdict.findings] == [FINDING]
    assert verdict.rationale == ["The sign is wrong.", "So the loss grows."]
    assert verdict.injection_suspected is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        json.dumps(GOOD)[:-1],
        f"```json\n{json.dumps(GOOD)}\n```",
        json.dumps(GOOD)[:-1] + ', "verdict": "CC"}',
        json.dumps({name: value for name, value in GOOD.items() if name != "findings"}),
        changed(score=3),
        changed(verdict="cc"),
        changed(verdict=None),
        changed(injection_suspected="no"),
        changed(rationale=["Because."]),
        changed(rationale=["Because.", " "]),
        changed(rationale=["Because.", "x" * (LONGEST_TEXT + 1)]),
        changed(findings=[FINDING] * (MOST_FINDINGS + 1)),
        changed(findings=[{**FINDING, "severity": "huge"}]),
        changed(findings=[{**FINDING, "point": ""}]),
        changed(findings=[{**FINDING, "more": ""}]),
        "[" * 100_000,
    ],
)
def test_anything_else_is_no_verdict(text: str) -> None:
    with pytest.raises(VerdictError):
        parse(text)


CC, LC, LI = Label.CC, Label.LC, Label.LI


@pytest.mark.parametrize(
    ("votes", "label", "split"),
    [
        ([], None, False),
        ([None], None, False),
        ([CC, CC, CC], CC, False),
        ([CC, CC, LI], CC, True),
        ([CC, LC, LI], None, True),
        ([CC, CC, None], CC, True),
        ([CC, None, None], None, True),
        ([None, None, None], None, False),
        ([CC, CC, LI, LI, LC], None, True),
        ([CC, CC, LI, LI, LI], LI, True),
        ([LI, LC, LI, LC, None], None, True),
    ],
)
def test_more_than_half_of_all_votes_abstentions_counted(
    votes: list[Label | None], label: Label | None, split: bool
) -> None:
    assert majority(votes) is label
    assert is_split(votes) is split
