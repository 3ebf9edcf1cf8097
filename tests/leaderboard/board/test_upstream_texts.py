"""The parsers of upstream's result files: each known shape, each refusal, and foreign bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.facts.lmr_bench import lmr_bench
from evaluator.labels import Label
from leaderboard.board.upstream_texts import (
    Agent,
    HumanLabel,
    TestOutcome,
    UpstreamFormatError,
    parse_human_labels,
    parse_judge_answer,
    parse_unit_tests,
)


def unit_tests(first: str = "1-DPO/unit_test_1.log: PASS", *, passed: int = 28) -> str:
    """A list in which all 28 tests pass, with another first line."""
    lines = [
        f"{p.instance_id}-{p.folder_name.split('-', 1)[1]}/unit_test_{t.index}.log: PASS"
        for p in lmr_bench().papers
        for t in p.tasks
    ]
    lines[lines.index("1-DPO/unit_test_1.log: PASS")] = first
    return "\n".join([*lines, "", "Total log files: 28", f"Passed files:    {passed}", "Overall pass rate: 1.00%"])


def parsed(text: str) -> dict[str, TestOutcome]:
    return parse_unit_tests(text, facts=lmr_bench(), where="results.txt")


class TestUnitTestLines:
    @pytest.mark.parametrize(
        ("new", "outcome", "passed"),
        [
            ("1-DPO/unit_test_1.log: PASS fail_count: 0", TestOutcome.PASSED, 28),
            ("1-DPO/unit_test.log: PASS", TestOutcome.PASSED, 28),
            ("1-DPO/unit_test_1.log: FAIL (found 0 failure lines)", TestOutcome.FAILED, 27),
            (
                "/home/someone/outputs/1-DPO/direct-preference-optimization/unit_test/logs is not a directory",
                TestOutcome.NEVER_RAN,
                27,
            ),
        ],
    )
    def test_four_shapes(self, new: str, outcome: TestOutcome, passed: int) -> None:
        outcomes = parsed(unit_tests(new, passed=passed))
        assert (outcomes["dpo/1"], len(outcomes)) == (outcome, 28)

    def test_a_missing_log_folder_concerns_all_tasks_of_the_paper(self) -> None:
        text = "/a/15-EmpathyBias/E/unit_test/logs is not a directory\nTotal log files: 2\nPassed files: 0\n"
        assert parsed(text) == {"empathybias/1": TestOutcome.NEVER_RAN, "empathybias/2": TestOutcome.NEVER_RAN}

    @pytest.mark.parametrize(
        ("new", "passed", "message"),
        [
            ("1-DPO/unit_test_1.log: ERROR", 27, "line 1: not one of the four"),
            ("2-DPO/unit_test_1.log: PASS", 28, "'2-DPO' is not one of"),
            ("1-DPO/unit_test_2.log: PASS", 28, "dpo has 1 tasks, no number 2"),
            ("2-HITs/unit_test_1.log: PASS", 28, "line 2: second result for hits/1"),
            ("", 27, r"stated as \('28', '27'\), but the lines give \(27, 27\)"),
        ],
    )
    def test_anything_else_is_refused(self, new: str, passed: int, message: str) -> None:
        with pytest.raises(UpstreamFormatError, match=message):
            parsed(unit_tests(new, passed=passed))

    @given(st.text() | st.from_regex(r"([0-9]-DPO|/a/1-DPO/b)/unit_test(_1\.log: PASS|/logs is not a directory)\n"))
    def test_text_without_a_matching_footer_is_refused(self, text: str) -> None:
        with pytest.raises(UpstreamFormatError):
            parsed(text)  # no generated text has a footer with the right counts


class TestJudgeAnswers:
    @pytest.mark.parametrize(
        ("text", "label"),
        [
            ('{"category": "1", "rationale": ["x"]}', Label.LI),
            ('{\n  "category": 2,\n  "rationale": []\n}\n', Label.LC),
            ('```json\n{"category": "3", "rationale": ["3 ```"]}\n```', Label.CC),
            ("The logic is right.\n\n1. Names differ\n\n**Classification:**  \n2", Label.LC),
            ("Wrong.\n\n1\n\n", Label.LI),
            ("3", Label.CC),
        ],
    )
    def test_three_shapes(self, text: str, label: Label) -> None:
        assert parse_judge_answer(text, where="a.txt") == label

    @pytest.mark.parametrize(
        "text",
        ["", "Wrong, so 1", "4", '{"category": "0"}', '{"category": true}', '{"rationale": []}', "```json\n[1]\n```"],
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        with pytest.raises(UpstreamFormatError, match=r"^a\.txt: expected a label code 1, 2 or 3"):
            parse_judge_answer(text, where="a.txt")

    def test_broken_json_is_not_taken_for_prose(self) -> None:
        with pytest.raises(UpstreamFormatError, match="not JSON"):
            parse_judge_answer('{"category": "1",\n2', where="a.txt")

    @given(st.text() | st.text().map(lambda text: f"{{{text}") | st.text().map(lambda text: f"```json\n{text}\n```"))
    def test_any_text_is_a_label_or_refused(self, text: str) -> None:
        try:
            label = parse_judge_answer(text, where="a.txt")
        except UpstreamFormatError:
            return
        assert label in Label


def human(code: Any = 1, **changes: Any) -> dict[str, Any]:
    entry = {"agent_type": "no_agent", "model_name": "gpt4o", "paper_index": 16, "function_index": 4}
    return entry | {"human_judge_result": code, "comment": "never published"} | changes


def labels(*entries: Any) -> list[HumanLabel]:
    return parse_human_labels(json.dumps(entries), facts=lmr_bench(), where="file 1")


class TestHumanLabels:
    @pytest.mark.parametrize("codes", [(1, 2, 3), (0, 1, 2)])
    def test_codes_from_0_or_1(self, codes: tuple[int, ...]) -> None:
        assert [line.label for line in labels(*map(human, codes))] == [Label.LI, Label.LC, Label.CC]

    @pytest.mark.parametrize("codes", [(1, 2), (0, 1, 3), ()])
    def test_codes_that_fit_both_ranges_or_neither_are_refused(self, codes: tuple[int, ...]) -> None:
        with pytest.raises(UpstreamFormatError, match="unclear whether the labels run from 0 to 2 or from 1 to 3"):
            labels(*(human(code) for code in codes))

    def test_function_index_counts_from_0(self) -> None:
        (line,) = labels(human(3, agent_type="openhands_agent"))
        assert line == HumanLabel(
            agent=Agent.OPENHANDS, model="gpt4o", task="knowprob/5", label=Label.CC, comment="never published"
        )

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"function_index": 5}, "entry 2: knowprob has 5 tasks, no number 6"),
            ({"function_index": -1}, "knowprob has 5 tasks, no number 0"),
            ({"paper_index": 21}, "paper 21 is not one of"),
            ({"human_judge_result": True}, "not a whole number"),
            ({"model_name": "gpt5"}, "unknown model"),
            ({"agent_type": "some_agent"}, "missing or unknown value .'some_agent'."),
            ({"comment": 3}, "expected a comment that is text"),
        ],
    )
    def test_unknown_values_are_refused(self, change: dict[str, Any], message: str) -> None:
        with pytest.raises(UpstreamFormatError, match=message):
            labels(human(3), human(2, **change))

    @pytest.mark.parametrize("text", ["", "{}", "[1]", "[[]]", "nul", "[" * 200_000])
    def test_not_a_list_of_objects(self, text: str) -> None:
        with pytest.raises(UpstreamFormatError, match=r"^file 1: "):
            parse_human_labels(text, facts=lmr_bench(), where="file 1")

    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(sorted(human())),
                st.sampled_from(["no_agent", "gpt4o", 0, 1, 3, 16, True, None]) | st.floats() | st.integers(),
            )
        )
    )
    def test_any_list_is_read_or_refused(self, entries: list[dict[str, Any]]) -> None:
        try:
            lines = labels(*entries)
        except UpstreamFormatError:
            return
        assert len(lines) == len(entries)
