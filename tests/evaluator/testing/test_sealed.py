"""Grading the mini task: right and wrong answers, endings, and what is shown of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.outcomes import Outcome
from evaluator.sandbox.interface import Ending, SandboxError
from evaluator.testing.verdicts import CaseResult, SealedTask
from tests.evaluator.testing.conftest import Grade
from tests.evaluator.testing.mini_task import GOLDEN
from tests.evaluator.testing.unconfined import AlteringSandbox, UnconfinedSandbox, altered_hello

WRONG_WEIGHTS = GOLDEN.replace("weights /= weights.sum()", "weights /= weights.max()")
WORST_FIRST = GOLDEN.replace("-scores, kind", "scores, kind")


def test_golden_passes_every_case(grade_goal: Grade, sandbox: UnconfinedSandbox) -> None:
    verdict = grade_goal(GOLDEN)
    assert (verdict.outcome, verdict.reason, verdict.log) == (Outcome.PASSED, "", "")
    public = [CaseResult(seed, index, True, Outcome.PASSED) for seed in (1, 2) for index in range(3)]
    private = [CaseResult(None, number, False, Outcome.PASSED) for number in range(6)]
    assert verdict.cases == (*public, *private)
    assert verdict.seconds > 0
    assert sandbox.labels == ["run-1-hello", "run-1-golden", "run-1-public", "run-1-private"]


def test_no_candidate_box_holds_cases_or_reference(grade_goal: Grade, sandbox: UnconfinedSandbox) -> None:
    grade_goal(GOLDEN)
    for spec in sandbox.ran[2:]:
        targets = [mount.target for mount in spec.mounts]
        assert targets == ["/box/driver.py", "/box/frames.py", "/box/probe_tools.py", "/box/repository", "/box/run.py"]
        assert not any("reference" in str(mount.source) for mount in spec.mounts)


def test_wrong_output_shows_the_difference_of_public_cases_only(grade_goal: Grade) -> None:
    verdict = grade_goal(WRONG_WEIGHTS)
    assert verdict.outcome is Outcome.WRONG_OUTPUT
    assert verdict.cases[0].difference.startswith("output 'weights': 4 of 4 values differ; largest absolute error ")
    # One element alone has weight 1 either way.
    assert [case.outcome for case in verdict.cases[:3]] == [Outcome.WRONG_OUTPUT, Outcome.WRONG_OUTPUT, Outcome.PASSED]
    private = [case for case in verdict.cases if not case.public]
    assert [(case.seed, case.difference, case.error) for case in private] == [(None, "", "")] * 6
    assert private[0].outcome is Outcome.WRONG_OUTPUT


def test_failing_only_in_private_cases_reveals_nothing_about_them(grade_goal: Grade) -> None:
    goal = GOLDEN.replace(
        "    weights = ",
        "    print('secret', scores)\n    if scores[0] == 12.0:\n        return scores, names, 'x'\n    weights = ",
    )
    verdict = grade_goal(goal)
    assert verdict.outcome is Outcome.WRONG_OUTPUT
    assert verdict.reason == "5 of 6 private test cases passed"
    assert verdict.cases[-1] == CaseResult(None, 5, False, Outcome.RAISED)
    assert verdict.log.count("secret") == 6


@pytest.mark.parametrize(
    "way",
    ["raise ValueError", "return scores, names, 'x'", "import os; os._exit(3)", "import time; time.sleep(600)"],
    ids=["raises", "wrong", "exits", "dawdles"],
)
def test_how_a_private_case_fails_makes_no_difference(grade_goal: Grade, task: SealedTask, way: str) -> None:
    goal = GOLDEN.replace("    weights = ", f"    if scores[0] == 12.0:\n        {way}\n    weights = ")
    verdict = grade_goal(goal, task=replace(task, check=replace(task.check, wall_seconds=3.0)))
    assert (verdict.outcome, verdict.reason) == (Outcome.WRONG_OUTPUT, "5 of 6 private test cases passed")
    assert verdict.seconds < 3.0


def test_sleeping_is_a_timeout_and_skips_the_private_box(
    grade_goal: Grade, task: SealedTask, sandbox: UnconfinedSandbox
) -> None:
    quick = replace(task, check=replace(task.check, wall_seconds=2.0))
    goal = "import time\n" + GOLDEN.replace(
        "    weights = ",
        "    if len(names) == 7:\n        print('before', flush=True)\n        time.sleep(60)\n    weights = ",
    )
    verdict = grade_goal(goal, task=quick)
    assert verdict.outcome is Outcome.TIMEOUT
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED] + [Outcome.TIMEOUT] * 5
    assert [case.error for case in verdict.cases[:3]] == ["", "stopped after 2 seconds", "not reached"]
    assert verdict.log == "before\n"
    assert "run-1-private" not in sandbox.labels


@pytest.mark.parametrize(
    ("ending", "outcome", "text", "private"),
    [
        (Ending.CPU_TIMEOUT, Outcome.TIMEOUT, "stopped after 20 seconds of processor time", False),
        (Ending.OUT_OF_MEMORY, Outcome.OUT_OF_MEMORY, "used more than 256 MiB of memory", False),
        (Ending.OUTPUT_LIMIT, Outcome.OUTPUT_LIMIT, "sent more than 8 MiB of output", True),
        (
            Ending.SIGNALLED,
            Outcome.RAISED,
            "the process was killed by signal None before all cases were answered",
            True,
        ),
    ],
)
def test_the_ending_decides_the_outcome_of_unanswered_cases(
    grade_goal: Grade, ending: Ending, outcome: Outcome, text: str, private: bool
) -> None:
    sandbox = AlteringSandbox(alter=lambda result: replace(result, ending=ending, stdout=result.stdout[:700]))
    verdict = grade_goal(GOLDEN, sandbox=sandbox)
    assert verdict.cases[0].outcome is Outcome.PASSED
    assert verdict.outcome is outcome
    assert next(case.error for case in verdict.cases if case.error) == text
    assert ("run-1-private" in sandbox.labels) is private


def test_a_missing_hello_is_an_infrastructure_error(grade_goal: Grade) -> None:
    with pytest.raises(SandboxError, match=r"box run-1-hello ended .* before its driver sent hello"):
        grade_goal(GOLDEN, sandbox=UnconfinedSandbox(python="/bin/false"))


def test_a_hello_with_another_nonce_is_an_infrastructure_error(grade_goal: Grade) -> None:
    with pytest.raises(SandboxError, match="box run-1-public ended"):
        grade_goal(GOLDEN, sandbox=AlteringSandbox(alter=lambda result: altered_hello(result, nonce="other")))


@pytest.mark.parametrize("suffix", ["-golden", "-public", "-private"])
def test_boxes_on_other_processors_are_an_infrastructure_error(grade_goal: Grade, suffix: str) -> None:
    mixed = AlteringSandbox(suffix=suffix, alter=lambda result: altered_hello(result, cpu_family="vax"))
    with pytest.raises(SandboxError, match=f"box run-1{suffix} reports the processor family vax, an earlier box"):
        grade_goal(GOLDEN, sandbox=mixed)


def test_large_golden_outputs_raise_the_output_limit(
    grade_goal: Grade, tmp_path: Path, task: SealedTask, sandbox: UnconfinedSandbox
) -> None:
    big = "def cases(seed):\n    return [{'bytes': 3_000_000}]\n"
    task.cases_file.write_text(big)
    task.run_file.write_text(
        "import numpy as np\nfrom weighing.goal import rank\n\n\n"
        "def run(case):\n    return {'zeros': np.zeros(case['bytes'], dtype=np.uint8), 'rank': rank.__name__}\n"
    )
    assert grade_goal(GOLDEN, private_seeds=()).outcome is Outcome.PASSED
    assert sandbox.ran[-1].limits.output_bytes > 4 * 6_000_000


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("from probe_tools import missing; raise missing('spaCy', 'similarity')", "NotInThisTestError"),
        ("from probe_tools import missing; raise ValueError(str(missing('spaCy', 'similarity')))", "ValueError"),
        ("from probe_tools import absent_thing; return scores, absent_thing('spaCy', 'similarity')", "FrameError"),
    ],
    ids=["raised", "raised again", "returned"],
)
def test_using_what_a_stand_in_lacks_has_an_outcome_of_its_own(grade_goal: Grade, way: str, reason: str) -> None:
    verdict = grade_goal(GOLDEN.replace("    weights = ", f"    if len(names) == 7:\n        {way}\n    weights = "))
    assert verdict.outcome is Outcome.TEST_LACKS
    assert f"{reason}: " in verdict.reason
    assert "this test's stand-in for spaCy" in verdict.reason
    # Of private test cases, the kind of failure is not shown.
    private = GOLDEN.replace("    weights = ", f"    if scores[0] == 12.0:\n        {way}\n    weights = ")
    assert grade_goal(private).outcome is Outcome.WRONG_OUTPUT


def test_first_failing_case_decides(grade_goal: Grade) -> None:
    verdict = grade_goal(
        WORST_FIRST.replace("    weights = ", "    if len(names) == 7:\n        raise KeyError('x')\n    weights = ")
    )
    assert [case.outcome for case in verdict.cases[:3]] == [Outcome.WRONG_OUTPUT, Outcome.RAISED, Outcome.PASSED]
    assert verdict.outcome is Outcome.WRONG_OUTPUT
    assert verdict.reason.startswith("seed 1, case 0: output 'order': ")
