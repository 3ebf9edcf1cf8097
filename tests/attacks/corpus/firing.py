"""Firing attacks at a sandbox and at the check of what is sent in, and judging what came of each."""

from __future__ import annotations

import secrets
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.auditing.canary_round import ESCAPED as ESCAPED_LINE
from evaluator.auditing.canary_round import GOAL, GOLDEN, HELD, NAME, PRIVATE_SEEDS, STUB, write_task, write_tree
from evaluator.sandbox.cgroups import GroupStore
from evaluator.sandbox.docker_client import LABEL, Engine, engine_errors
from evaluator.sandbox.types import BoxSpec, SandboxError
from evaluator.testing.logs import MAX_LOG_BYTES
from evaluator.testing.sealed import grade
from evaluator.testing.upstream import Mode, ModeChoice, UpstreamTask, choose_mode, grade_upstream
from submissions.answers.limited import BundleRequest, apply_limited, check_packed, unpack
from submissions.answers.types import (
    AnswerError,
    AnswerKind,
    BundleError,
    ProtectedPathError,
    RawAnswer,
    Severity,
    TaskFiles,
)
from tests.attacks.corpus.bait import Bait
from tests.attacks.corpus.between import pass_bits
from tests.attacks.corpus.kinds import (
    ACCEPTED,
    BAD_PATCH,
    ESCAPED,
    INFRA,
    REFUSED,
    AnswerAttack,
    Attack,
    Group,
    PairAttack,
    PatchAttack,
    ProgramAttack,
    UploadAttack,
    Way,
)
from tests.evaluator.testing.mini_task import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.types import SealedTask, Verdict

TRIES = 3
"""How often an infrastructure error may befall one attack. A box may fail to start in time on a busy machine."""
_TEST = "unit_test/unit_test_1.py"
UNIT_TEST = """import logging
import os
import unittest

import numpy as np

from weighing.goal import rank

here = os.path.dirname(os.path.abspath(__file__))
os.makedirs(os.path.join(here, "logs"), exist_ok=True)
logging.basicConfig(
    filename=os.path.join(here, "logs", "unit_test_1.log"), filemode="w", level=logging.INFO, format="%(message)s"
)


class TestRank(unittest.TestCase):
    def test_four_names(self):
        weights, order = rank(np.array([0.5, -1.0, 2.0, 0.0]), ["a", "b", "c", "d"])
        expected = np.array([0.15844, 0.03535, 0.71010, 0.09610])
        if np.allclose(weights, expected, atol=1e-4) and order == ["c", "a", "d", "b"]:
            logging.info("Test Passed: four names")
        else:
            logging.info("Test Failed: four names")
        self.assertTrue(np.allclose(weights, expected, atol=1e-4))
        self.assertEqual(order, ["c", "a", "d", "b"])


if __name__ == "__main__":
    unittest.main()
"""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one attack by one way. ``reason`` is the evaluator's, or says what is unexpected."""

    way: Way
    outcome: str
    repelled: bool
    reason: str


class Range:
    """Where attacks are fired: a sandbox, and the site's own task in ``folder``, to be graded by every protocol."""

    def __init__(self, sandbox: Sandbox, folder: Path, bait: Bait, label: str) -> None:
        self.sandbox, self.folder, self.bait, self.label = sandbox, folder, bait, label
        self.task: SealedTask = write_task(folder / "task")
        self._golden = MemoryStore()
        self._scratch = folder / "scratch"
        self._scratch.mkdir()
        self._scratch.chmod(0o755)
        _with_test(write_tree(folder / "upstream" / "reference", GOLDEN))
        self._upstream = UpstreamTask(
            goal=GOAL,
            repository=_with_test(write_tree(folder / "upstream" / "masked", STUB)),
            grading=folder / "upstream",
            repository_name="weighing",
            unit_test_file=_TEST,
            environment="numpy",
            memory_bytes=512 * 1024 * 1024,
        )
        self._remote = cache(self._choose_remote)

    def grade(self, goal: str, way: Way, *, wall_seconds: float = 20.0, private: bool = True) -> Verdict:
        """Grade a goal file's text. Raises :class:`SandboxError`."""
        tree = write_tree(self.folder / f"tree-{secrets.token_hex(4)}", self.bait.constants() + goal)
        if way is Way.SEALED:
            return grade(
                sandbox=self.sandbox,
                task=replace(self.task, check=replace(self.task.check, wall_seconds=wall_seconds)),
                candidate_tree=tree,
                private_seeds=PRIVATE_SEEDS if private else (),
                golden=self._golden,
                label=self.label,
            )
        beside = ModeChoice(Mode.IN_PROCESS, "so that the attack runs beside the test")
        return grade_upstream(
            sandbox=self.sandbox,
            task=replace(self._upstream, wall_seconds=wall_seconds),
            tree=_with_test(tree),
            choice=self._remote() if way is Way.REMOTE else beside,
            scratch=self._scratch,
            label=self.label,
        )

    def left_behind(self) -> list[str]:
        """Control groups and containers of the range's boxes. Raises SandboxError when the engine cannot be asked."""
        try:
            groups = GroupStore.of_this_machine().names()
        except SandboxError:
            groups = set()  # a worker without groups of its own: systemd's, which end with the box
        found = [f"control group {name} is left" for name in sorted(groups) if name.startswith(self.label)]
        if self.sandbox.name != "docker":
            return found
        with engine_errors("looking for what was left"), closing(Engine(None)) as engine:
            listed = engine.client().containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
            return found + [
                f"container {box.name} is left" for box in listed if box.labels[LABEL].startswith(self.label)
            ]

    def _choose_remote(self) -> ModeChoice:
        choice = choose_mode(sandbox=self.sandbox, task=self._upstream, scratch=self._scratch, label=self.label)
        assert choice.mode is Mode.REMOTE, choice.why
        return choice


@contextmanager
def open_range(sandbox: Sandbox, folder: Path, *, label: str) -> Iterator[Range]:
    """A range in a scratch folder below ``folder``, removed afterwards; ``label`` begins the names of its boxes."""
    with tempfile.TemporaryDirectory(prefix="attacks-", dir=folder) as scratch:
        Path(scratch).chmod(0o755)
        with Bait(Path(scratch)) as bait:
            yield Range(sandbox, Path(scratch), bait, f"{label}-{secrets.token_hex(4)}")


def fire(attack: Attack, target: Range) -> list[Result]:
    """Fire ``attack`` by each of its ways. An infrastructure error that stays counts as not repelled."""
    return [_fire_once(attack, way, target) for way in attack.expected]


def _fire_once(attack: Attack, way: Way, target: Range) -> Result:
    expected = attack.expected[way]
    for _ in range(TRIES):
        traces: list[str] = []
        try:
            outcome, reason = _outcome(attack, way, target)
            traces = [*target.bait.taken(), *target.left_behind()]
        except (SandboxError, OSError) as error:
            outcome, reason = INFRA, str(error)
        if outcome != INFRA:
            break
    repelled = outcome in expected.outcomes and expected.says in reason and not traces
    if traces:
        outcome, reason = ESCAPED, "; ".join(traces)
    elif outcome in expected.outcomes and not repelled:
        reason = f"the reason should say {expected.says!r}: {reason}"
    return Result(way, outcome, repelled, reason)


def _outcome(attack: Attack, way: Way, target: Range) -> tuple[str, str]:
    if isinstance(attack, AnswerAttack):
        return _grade_answer(attack, way, target)
    if isinstance(attack, ProgramAttack):
        return _run_program(attack, target)
    if isinstance(attack, PairAttack):
        return pass_bits(attack, target.sandbox, label=target.label, environment=target.task.environment)
    if isinstance(attack, PatchAttack):
        return _apply_patch(attack, target)
    assert isinstance(attack, UploadAttack)
    return _read_upload(attack, target)


def _grade_answer(attack: AnswerAttack, way: Way, target: Range) -> tuple[str, str]:
    # What a box holds back is seen in one box; only who wants to pass must pass the private cases as well.
    private = attack.group in (Group.TAMPERING, Group.CONTROL)
    verdicts = [
        target.grade(attack.source, way, wall_seconds=attack.wall_seconds, private=private) for _ in range(attack.runs)
    ]
    lines = [line for verdict in verdicts for line in verdict.log.splitlines()]
    escaped = [line.removeprefix(ESCAPED_LINE) for line in lines if line.startswith(ESCAPED_LINE)]
    held = sum(line.startswith(HELD) for line in lines)
    if escaped:
        return ESCAPED, "; ".join(escaped)
    if any(len(verdict.log.encode()) > MAX_LOG_BYTES for verdict in verdicts):
        return ESCAPED, "the log has outgrown its limit"
    if held < attack.held:
        return INFRA, f"only {held} of {attack.held} tries were made ({verdicts[-1].outcome}: {verdicts[-1].reason})"
    return verdicts[-1].outcome.value, verdicts[-1].reason


def _run_program(attack: ProgramAttack, target: Range) -> tuple[str, str]:
    spec = BoxSpec(
        label=f"{target.label}-program",
        argv=("python", "-c", attack.code),
        mounts=(),
        stdin=bytes(attack.stdin_bytes),
        limits=attack.limits,
        environment=target.task.environment,
    )
    result = target.sandbox.run(spec)
    return result.ending.value, f"exit code {result.exit_code}, signal {result.signal}"


def _apply_patch(attack: PatchAttack, target: Range) -> tuple[str, str]:
    answer = RawAnswer(task=NAME, trial=1, kind=AnswerKind.DIFF, content=attack.diff, file="answer.diff")
    try:
        apply_limited(answer, TaskFiles(goal=GOAL, repository=target.task.repository))
    except ProtectedPathError as error:
        return REFUSED, error.message
    except AnswerError as error:
        return BAD_PATCH, error.message
    return ACCEPTED, ""


def _read_upload(attack: UploadAttack, target: Range) -> tuple[str, str]:
    path = target.folder / f"upload-{secrets.token_hex(4)}"
    path.write_bytes(attack.make())
    files = TaskFiles(goal=GOAL, repository=target.task.repository)
    try:
        reading = unpack(check_packed(path, BundleRequest(tasks={"attacks": {NAME: files}})))
    except BundleError as error:
        return REFUSED, "; ".join(problem.message for problem in error.problems[-3:])
    finally:
        path.unlink()
    problems = [problem for problem in reading.problems if problem.severity is not Severity.REMARK]
    reason = "; ".join(problem.message for problem in problems[-3:])
    if reading.refused:
        return REFUSED, reason
    return BAD_PATCH if problems else ACCEPTED, reason


def _with_test(tree: Path) -> Path:
    """The same tree, with the unit test in it."""
    file = tree / _TEST
    file.parent.mkdir()
    file.write_text(UNIT_TEST)
    return tree
