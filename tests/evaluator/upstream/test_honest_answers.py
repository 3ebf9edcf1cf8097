"""Answers that try to be right: the verdict is what upstream's own rule says of the same answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evaluator.testing.types import Outcome
from evaluator.testing.upstream import Mode, grade_upstream
from tests.evaluator.upstream.conftest import CHOICES
from tests.evaluator.upstream.tasks import STUB, answer_tree, golden_text, masked_text, passes_upstream

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.upstream import UpstreamTask
    from tests.evaluator.upstream.conftest import GradeText

PASSED, WRONG, RAISED = Outcome.PASSED, Outcome.WRONG_OUTPUT, Outcome.RAISED

PAIRS = {
    "another right one": (
        (
            "gaps = np.asarray(chosen) - rejected\n"
            "    if seen is not None:\n"
            "        seen.extend([gaps.mean()])\n"
            "    return -np.log(1 / (1 + np.exp(-beta * gaps))), gaps.mean()"
        ),
        PASSED,
    ),
    "a wrong sign": (
        (
            "gaps = chosen - rejected\n    seen = [] if seen is None else seen\n    seen.append(gaps.mean())\n"
            "    return np.logaddexp(0, beta * gaps), gaps.mean()"
        ),
        WRONG,
    ),
    "nothing": ("return None", RAISED),
    "one value too few": ("return np.logaddexp(0, -beta * (chosen - rejected))", RAISED),
}
DECAY = {
    "another right one": ("return np.array([w * rate**i for i, w in enumerate(weights)])", PASSED),
    "a wrong one": ("return weights * rate", WRONG),
    "an exception": ("return weights * unknown", WRONG),
}
CONTRAST = {
    "another right one": (
        (
            "expert = expert - np.log(np.exp(expert).sum())\n"
            "    amateur = amateur - np.log(np.exp(amateur).sum())\n"
            "    found = expert - amateur\n"
            "    found[np.exp(expert) < alpha * np.exp(expert).max()] = -np.inf\n"
            "    return found"
        ),
        PASSED,
    ),
    "a wrong one": ("return expert - amateur", WRONG),
}


def check(task: UpstreamTask, text: str, expected: Outcome, grade: GradeText, tmp_path: Path, mode: Mode) -> None:
    verdict = grade(task, text, mode)
    assert verdict.outcome is expected, verdict
    tree = answer_tree(task, tmp_path, text)
    assert passes_upstream(task, tree, tmp_path) is (expected is PASSED)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("mode", [Mode.REMOTE, Mode.IN_PROCESS])
@pytest.mark.parametrize("name", PAIRS)
def test_a_function_with_files(
    name: str, mode: Mode, pairs: UpstreamTask, grade_text: GradeText, tmp_path: Path
) -> None:
    body, expected = PAIRS[name]
    check(pairs, masked_text(pairs).replace(STUB, body), expected, grade_text, tmp_path, mode)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("mode", [Mode.REMOTE, Mode.IN_PROCESS])
@pytest.mark.parametrize("name", DECAY)
def test_a_test_that_only_logs(
    name: str, mode: Mode, decay: UpstreamTask, grade_text: GradeText, tmp_path: Path
) -> None:
    body, expected = DECAY[name]
    check(decay, masked_text(decay).replace(STUB, body), expected, grade_text, tmp_path, mode)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", CONTRAST)
def test_a_goal_in_its_own_test(name: str, contrast: UpstreamTask, grade_text: GradeText, tmp_path: Path) -> None:
    body, expected = CONTRAST[name]
    check(contrast, masked_text(contrast).replace(STUB, body), expected, grade_text, tmp_path, Mode.IN_PROCESS)


@pytest.mark.bubblewrap
def test_an_error_that_upstreams_log_does_not_show_fails(
    pairs: UpstreamTask, grade_text: GradeText, tmp_path: Path
) -> None:
    """Where the two differ: one test logs that it passed, the other one raises before it logs anything."""
    body = "gaps = chosen - rejected\n    return np.logaddexp(0, -beta * gaps), gaps.mean()"
    text = masked_text(pairs).replace(STUB, body)
    for mode in (Mode.REMOTE, Mode.IN_PROCESS):
        verdict = grade_text(pairs, text, mode)
        assert [case.outcome for case in verdict.cases] == [RAISED, PASSED]
        assert verdict.reason == "TestPairLoss.test_all_pairs: IndexError: list index out of range"
    assert passes_upstream(pairs, answer_tree(pairs, tmp_path, text), tmp_path)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("folder", ["pairs", "decay", "contrast"])
def test_the_golden_file_passes_twice_alike_and_the_masked_one_does_not(
    folder: str, request: pytest.FixtureRequest, grade_text: GradeText, tmp_path: Path
) -> None:
    task = request.getfixturevalue(folder)
    first, second = (grade_text(task, golden_text(task)) for _ in range(2))
    assert first.outcome is PASSED, first
    assert first.cases == second.cases
    assert grade_text(task, masked_text(task)).outcome is not PASSED
    assert passes_upstream(task, task.reference_repository, tmp_path)
    assert not passes_upstream(task, task.repository, tmp_path)


@pytest.mark.bubblewrap
def test_cases_are_named_and_the_log_is_shown(pairs: UpstreamTask, grade_text: GradeText) -> None:
    for mode in (Mode.REMOTE, Mode.IN_PROCESS):
        verdict = grade_text(pairs, masked_text(pairs), mode)
        assert [(case.name, case.outcome, case.seed, case.public) for case in verdict.cases] == [
            ("TestPairLoss.test_all_pairs", RAISED, None, True),
            ("TestPairLoss.test_single_pairs", RAISED, None, True),
        ]
        assert verdict.reason == "TestPairLoss.test_all_pairs: NotImplementedError: not implemented"
        assert "losses.py:8 in pair_loss: raise NotImplementedError" in verdict.cases[0].error
        assert "FAILED (errors=2)" in verdict.log
    verdict = grade_text(pairs, golden_text(pairs), Mode.REMOTE)
    assert "All pairs: Test Passed" in verdict.log


@pytest.mark.docker
@pytest.mark.parametrize("mode", [Mode.REMOTE, Mode.IN_PROCESS])
def test_in_docker_alike(mode: Mode, pairs: UpstreamTask, docker: Sandbox, tmp_path: Path) -> None:
    for text, expected in ((golden_text(pairs), PASSED), (masked_text(pairs), RAISED)):
        verdict = grade_upstream(
            sandbox=docker,
            task=pairs,
            tree=answer_tree(pairs, tmp_path, text),
            choice=CHOICES[mode],
            scratch=tmp_path / "scratch",
            label="answer",
        )
        assert verdict.outcome is expected, verdict
