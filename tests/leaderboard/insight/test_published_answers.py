"""Published verdicts against those of our sealed tests on the same answers: the shipped facts."""

from __future__ import annotations

import json

from evaluator.outcomes import Outcome
from evaluator.sandbox.configuration import EVALUATOR_VERSION
from leaderboard.board.reported import REMEASURED_FILE, SHIPPED_FILE
from leaderboard.insight.published_answers import PublishedAnswers, Right, published_answers

MEASURED = json.loads(REMEASURED_FILE.read_text())
PUBLISHED = {run["slug"]: run for run in json.loads(SHIPPED_FILE.read_text())["runs"]}


def test_exactly_the_answers_with_different_verdicts_are_judged() -> None:
    differing = {
        (run["slug"], task)
        for run in MEASURED["runs"]
        for task, outcome in run["tasks"].items()
        if PUBLISHED[run["of"]]["tasks"][task]["tests"] == ("failed" if outcome == "passed" else "passed")
    }
    judged = [(each["run"], each["task"]) for each in MEASURED["disagreements"]]
    assert sorted(judged) == sorted(differing)
    found = published_answers("lmr-bench")
    assert [(f"{each.run}-remeasured", each.task) for each in found.disagreements] == judged
    assert all(each.published_passed is (each.sealed is not Outcome.PASSED) for each in found.disagreements)


def test_the_shipped_numbers() -> None:
    passes = {
        run["slug"]: (sum(outcome == "passed" for outcome in run["tasks"].values()), len(run["tasks"]))
        for run in MEASURED["runs"]
    }
    assert passes == {
        "openhands-gpt-4o-remeasured": (5, 20),
        "openhands-gpt-4.1-remeasured": (7, 25),
        "openhands-o4-mini-remeasured": (11, 21),
    }
    found = published_answers("lmr-bench")
    assert (found.verdicts, found.agreed, len(found.disagreements)) == (61, 46, 15)
    assert found.counts() == {Right.SEALED: 13, Right.PUBLISHED: 1, Right.OPEN: 1}
    assert [(each.run, each.task, each.second_run) for each in found.passes_without_answer] == [
        ("openhands-gpt-4o", "hits/1", "raised"),
        ("openhands-gpt-4o", "steplength/1", "passed"),
        ("openhands-gpt-4.1", "decbound/1", "passed"),
        ("openhands-o4-mini", "hits/1", None),
    ]


def test_a_verdict_that_may_be_a_second_run_s_is_no_error_of_upstream_s_tests() -> None:
    passes = {
        run["slug"]: (sum(outcome == "passed" for outcome in run["second_run"].values()), len(run["second_run"]))
        for run in MEASURED["runs"]
        if "second_run" in run
    }
    assert passes == {"openhands-gpt-4o-remeasured": (4, 22), "openhands-gpt-4.1-remeasured": (10, 18)}
    found = published_answers("lmr-bench")
    explained = [(each.run, each.task) for each in found.disagreements if each.may_be_second_run]
    assert explained == [
        *(("openhands-gpt-4o", task) for task in ("cd/1", "simclr/1", "ergo/1")),
        *(("openhands-gpt-4.1", task) for task in ("hits/1", "spin/1")),
    ]
    assert (found.may_be_second_run, found.wrongly_passed, found.wrongly_failed) == (5, 5, 4)


def test_upstreams_judge_found_no_implementation_in_the_passes_without_an_answer() -> None:
    found = published_answers("lmr-bench").passes_without_answer
    assert {PUBLISHED[each.run]["tasks"][each.task]["judge"] for each in found} == {"LI"}


def test_the_facts_are_whole() -> None:
    assert MEASURED["evaluator_version"] == EVALUATOR_VERSION
    for run in MEASURED["runs"]:
        assert run["slug"] == f"{run['of']}-remeasured"
        assert set(run["tasks"]) <= set(PUBLISHED[run["of"]]["tasks"])
        assert not {Outcome(outcome) for outcome in run["tasks"].values()} & {Outcome.NOT_ATTEMPTED, Outcome.TAMPERING}
    for each in MEASURED["disagreements"]:
        assert each["why"].endswith("."), each
        assert len(each["why"]) < 240, each


def test_other_suites_have_none() -> None:
    found = published_answers("small")
    assert found == PublishedAnswers()
    assert (found.wrongly_passed, found.wrongly_failed, found.measured) == (0, 0, None)
