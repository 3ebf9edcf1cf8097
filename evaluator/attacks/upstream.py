"""The same attacks by upstream's protocol: the corpus's task with a unit test in upstream's manner, in both modes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

from evaluator.attacks import task
from evaluator.attacks.types import Way
from evaluator.sandbox.types import SandboxError
from evaluator.testing.upstream import Mode, ModeChoice, UpstreamTask, choose_mode, grade_upstream

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evaluator.attacks.rounds import GradeTree
    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.types import Verdict

MEMORY_BYTES: Final = 512 * 1024 * 1024
_TEST: Final = "unit_test/unit_test_1.py"


def upstream_graders(folder: Path, sandbox: Sandbox) -> Mapping[Way, GradeTree]:
    """A grader for each mode; the remote one raises :class:`SandboxError` where the reference does not pass by it."""
    place = folder / "upstream"
    _with_test(task.write_tree(place / "reference", task.GOLDEN))
    upstream_task = UpstreamTask(
        goal=task.GOAL,
        repository=_with_test(task.write_tree(place / "masked", task.STUB)),
        grading=place,
        repository_name="ranking",
        unit_test_file=_TEST,
        environment="numpy",
        memory_bytes=MEMORY_BYTES,
    )
    scratch = place / "scratch"
    scratch.mkdir()
    scratch.chmod(0o755)

    @cache
    def remote(label: str) -> ModeChoice:
        choice = choose_mode(sandbox=sandbox, task=upstream_task, scratch=scratch, label=label)
        if choice.mode is not Mode.REMOTE:
            raise SandboxError(f"the corpus's own task cannot be tested remotely: {choice.why}")
        return choice

    beside = ModeChoice(Mode.IN_PROCESS, "so that the attack runs beside the test")

    def grade(tree: Path, label: str, wall_seconds: float, choice: ModeChoice) -> Verdict:
        return grade_upstream(
            sandbox=sandbox,
            task=replace(upstream_task, wall_seconds=wall_seconds),
            tree=_with_test(tree),
            choice=choice,
            scratch=scratch,
            label=label,
        )

    return {
        Way.REMOTE: lambda tree, label, seconds, _: grade(tree, label, seconds, remote(label)),
        Way.IN_PROCESS: lambda tree, label, seconds, _: grade(tree, label, seconds, beside),
    }


def _with_test(tree: Path) -> Path:
    """The same tree, with the unit test in it."""
    file = tree / _TEST
    file.parent.mkdir()
    file.write_text(task.UNIT_TEST)
    return tree
