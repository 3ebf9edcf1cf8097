"""Verdicts on a test's report. The reports are made up; nothing in them needs to be true."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluator.outcomes import Outcome
from evaluator.sandbox.interface import BoxResult, BoxSpec, Ending
from evaluator.testing.sealed import MAX_ERROR_CHARACTERS, MAX_REASON_CHARACTERS
from evaluator.testing.upstream_verdict import MAX_CASES, NOTHING_SHOWN, judge
from evaluator.testing.verdicts import Verdict

PASSED, WRONG, RAISED, TAMPERING = Outcome.PASSED, Outcome.WRONG_OUTPUT, Outcome.RAISED, Outcome.TAMPERING
ERROR = {"type": "ValueError", "message": "no", "traceback": ["a.py:1 in f: x"]}
ENDED = {"event": "ended", "assertions": 1}
LEFT = {"event": "left", "replaced": []}
SPEC = BoxSpec("test", ("python",), ())


def result(ending: Ending = Ending.EXITED) -> BoxResult:
    return BoxResult(ending, 0, None, b"", b"printed", False, 1.5, None)


def report(*events: Any, **changed: Any) -> dict[str, Any]:
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    facts = {"kind": "report", "exit_code": 0, "signal": None, "events": texts, "flooded": False}
    return {**facts, "logs": [], "printed": "", "changed": [], **changed}


def judged(*events: Any, ending: Ending = Ending.EXITED, **changed: Any) -> Verdict:
    return judge(report(*events, **changed), name="unit_test/unit_test_1.py", result=result(ending), spec=SPEC)


def test_an_assertion_is_enough() -> None:
    verdict = judged(ENDED, LEFT)
    assert (verdict.outcome, verdict.reason, verdict.seconds) == (PASSED, "", 1.5)
    assert [(case.name, case.index, case.seed, case.public) for case in verdict.cases] == [
        ("unit_test_1.py", 0, None, True)
    ]


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({"logs": [["unit_test_1.log", "x - Test Passed: 1"]]}, PASSED),
        ({"printed": "Test Passed"}, PASSED),
        ({"printed": "Test Passed", "logs": [["unit_test_1.log", "x"]]}, WRONG),
        ({"logs": [["unit_test_1.log", "Test Passed\nTest Failed"]]}, WRONG),
        ({"printed": "Test Failed"}, WRONG),
        ({}, WRONG),
    ],
    ids=["logged", "printed", "printed beside a log", "both", "printed failed", "nothing"],
)
def test_without_assertions_the_log_decides(changed: dict[str, Any], outcome: Outcome) -> None:
    verdict = judged({"event": "ended", "assertions": 0}, LEFT, **changed)
    assert verdict.outcome is outcome
    if not changed:
        assert verdict.reason == f"unit_test_1.py: {NOTHING_SHOWN}"


@pytest.mark.parametrize(
    ("events", "changed", "outcome", "words"),
    [
        ([{"event": "exited"}, LEFT], {}, RAISED, "ended before the test did (exit code 0)"),
        ([], {}, RAISED, "ended before the test did (exit code 0)"),
        ([ENDED], {"exit_code": None, "signal": 9}, RAISED, "ended before the test did (signal 9)"),
        ([ENDED, LEFT], {"exit_code": 3}, RAISED, "ended with exit code 3"),
        ([{"event": "raised", "error": ERROR, "failed": False}, LEFT], {"exit_code": 1}, RAISED, "ValueError: no"),
        ([{"event": "raised", "error": ERROR, "failed": True}, LEFT], {"exit_code": 1}, WRONG, "ValueError: no"),
        ([{"event": "logged", "text": "Test Failed: 3"}, ENDED, LEFT], {}, WRONG, "the test logged: Test Failed: 3"),
        ([ENDED, LEFT], {"changed": ["unit_test/a.pt"]}, TAMPERING, "protected files were changed"),
        ([ENDED, {"event": "left", "replaced": ["numpy.allclose"]}], {}, TAMPERING, "were replaced: numpy.allclose"),
    ],
)
def test_reasons_for_which_a_file_does_not_pass(
    events: list[Any], changed: dict[str, Any], outcome: Outcome, words: str
) -> None:
    verdict = judged(*events, **changed)
    assert verdict.outcome is outcome
    assert words in verdict.reason


def one(name: str, *events: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one test."""
    test = {"test": f"T.test_{name}"}
    named = [event if event["event"] == "logged" else event | test for event in events]
    return [{"event": "start", **test}, *named, {"event": "stop", **test}]


def test_each_test_is_a_case() -> None:
    verdict = judged(
        *one("a", {"event": "success"}),
        *one("b", {"event": "failure", "error": ERROR}),
        *one("c", {"event": "error", "error": ERROR}),
        *one("d", {"event": "logged", "text": "Test Failed"}, {"event": "success"}),
        *one("e", {"event": "skip", "declared": True})[:2],
        *one("f", {"event": "skip", "declared": False})[:2],
        *one("g")[:1],
        ENDED,
        LEFT,
        exit_code=1,
    )
    assert [(case.name, case.outcome) for case in verdict.cases] == [
        ("T.test_a", PASSED),
        ("T.test_b", WRONG),
        ("T.test_c", RAISED),
        ("T.test_d", WRONG),
        ("T.test_f", RAISED),
        ("T.test_g", RAISED),
    ]
    assert verdict.outcome is WRONG
    assert verdict.reason == "T.test_b: ValueError: no"
    assert verdict.cases[1].error == "ValueError: no\n  at a.py:1 in f: x"


def test_a_file_whose_tests_are_all_skipped_shows_nothing() -> None:
    verdict = judged(
        *one("a", {"event": "skip", "declared": True})[:2],
        {"event": "ended", "assertions": 0},
        LEFT,
    )
    assert (verdict.outcome, verdict.reason) == (WRONG, f"unit_test_1.py: {NOTHING_SHOWN}")


@pytest.mark.parametrize(
    "events",
    [
        ["not JSON"],
        ["[1]"],
        ["[" * 100_000],
        [{"event": "unknown"}],
        [{"test": "T"}],
        [{"event": "failure", "test": "T", "error": "x"}],
        [{"event": "failure", "test": "T", "error": {}}],
        [{"event": "ended", "assertions": None}],
        [{"event": "left"}],
        [{"event": "start", "test": f"T{number}"} for number in range(MAX_CASES + 1)],
    ],
    ids=range(10),
)
def test_events_that_the_runner_does_not_write_are_tampering(events: list[Any]) -> None:
    assert judged(*events, ENDED, LEFT).outcome is TAMPERING


@pytest.mark.parametrize(
    "changed",
    [
        {"flooded": True},
        {"exit_code": "0"},
        {"logs": [["a"]]},
        {"logs": "x"},
        {"printed": 1},
        {"more": 1},
        {"kind": "x"},
    ],
    ids=str,
)
def test_reports_that_the_driver_does_not_write_are_tampering(changed: dict[str, Any]) -> None:
    assert judged(ENDED, LEFT, **changed).outcome is TAMPERING


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending.WALL_TIMEOUT, Outcome.TIMEOUT),
        (Ending.CPU_TIMEOUT, Outcome.TIMEOUT),
        (Ending.OUT_OF_MEMORY, Outcome.OUT_OF_MEMORY),
        (Ending.OUTPUT_LIMIT, Outcome.OUTPUT_LIMIT),
        (Ending.SIGNALLED, RAISED),
    ],
)
def test_the_boxs_ending_has_priority_over_its_report(ending: Ending, outcome: Outcome) -> None:
    assert judged(ENDED, LEFT, ending=ending).outcome is outcome


def test_a_box_without_report_has_raised() -> None:
    verdict = judge(None, name="unit_test/unit_test_1.py", result=result(), spec=SPEC)
    assert (verdict.outcome, verdict.log) == (RAISED, "printed")


def test_the_log_is_the_tests_log_and_what_was_printed() -> None:
    assert judged(ENDED, LEFT, logs=[["unit_test_1.log", "a\x1b[31m\nb"]]).log == "unit_test_1.log\na\nb\n\nprinted"


@pytest.mark.parametrize(
    ("events", "changed"),
    [
        ([{"event": "logged", "text": "Test Failed \u202ea\u200b" + "x" * 10_000}, ENDED, LEFT], {}),
        ([ENDED, {**LEFT, "replaced": ["\u202ea\u200b" + "x" * 10_000]}], {}),
        ([ENDED, LEFT], {"changed": ["\u202ea\u200b" + "x" * 10_000]}),
    ],
    ids=["logged", "replaced", "changed files"],
)
def test_text_from_a_box_hides_nothing_and_is_bounded(events: list[Any], changed: dict[str, Any]) -> None:
    verdict = judged(*events, **changed)
    case = next(case for case in verdict.cases if case.outcome is not Outcome.PASSED)
    assert "\u2039U+202E\u203aa\u2039U+200B\u203axxx" in case.error
    assert (len(case.error), len(verdict.reason)) == (MAX_ERROR_CHARACTERS, MAX_REASON_CHARACTERS)
    assert "\u2039U+202E\u203aa" in verdict.reason
