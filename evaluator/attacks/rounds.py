"""Firing attacks at a sandbox and at the check of what is sent in, and judging what came of each."""

from __future__ import annotations

import secrets
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.attacks import library, task
from evaluator.attacks.bait import Bait
from evaluator.attacks.between import pass_bits
from evaluator.attacks.traces import left_behind
from evaluator.attacks.types import (
    ACCEPTED,
    BAD_PATCH,
    ESCAPED,
    INFRA,
    REFUSED,
    AnswerAttack,
    Attack,
    AttackResult,
    Group,
    PairAttack,
    PatchAttack,
    ProgramAttack,
    UploadAttack,
    Way,
)
from evaluator.sandbox.types import BoxSpec, SandboxError
from evaluator.testing.logs import MAX_LOG_BYTES
from evaluator.testing.sealed import grade
from submissions.answers.limited import BundleRequest, apply_limited, check_limited
from submissions.answers.types import (
    AnswerError,
    AnswerKind,
    BundleError,
    ProtectedPathError,
    RawAnswer,
    Severity,
    TaskFiles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.types import SealedTask, Verdict

    GradeTree = Callable[[Path, str, float, bool], Verdict]
    """Grades a tree under a label, with so many seconds for a box, and by private seeds as well where there are some.

    Raises SandboxError for faults of ours.
    """


TRIES = 3
"""How often a fault of ours may befall one attack. A box may fail to start in time on a busy machine."""


class RememberedGolden:
    """Golden outputs for as long as a round lasts."""

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """What was put under ``key``."""
        return self._entries.get(key)

    def put(self, key: str, value: bytes) -> None:
        """Keep ``value``."""
        self._entries[key] = value


@dataclass(frozen=True, slots=True)
class Range:
    """Where attacks are fired: a sandbox, a task written to ``folder``, and a grader for each protocol."""

    sandbox: Sandbox
    folder: Path
    task: SealedTask
    bait: Bait
    label: str
    graders: Mapping[Way, GradeTree]
    private: bool = True

    def ways(self, attack: Attack) -> list[Way]:
        """The ways of ``attack`` that can be gone here, in one order."""
        here = {*self.graders, Way.BOX, Way.CHECKER}
        return [way for way in Way if way in attack.expected and way in here]

    def tree(self, goal: str) -> Path:
        """A fresh repository with ``goal`` as the text of its goal file."""
        return task.write_tree(self.folder / f"tree-{secrets.token_hex(4)}", goal)

    def grade(self, goal: str, way: Way, *, wall_seconds: float = 20.0, private: bool = True) -> Verdict:
        """Grade a goal file's text. Raises :class:`SandboxError`."""
        return self.graders[way](self.tree(self.bait.constants() + goal), self.label, wall_seconds, private)


@contextmanager
def open_range(
    sandbox: Sandbox,
    folder: Path,
    *,
    label: str,
    private: bool = True,
    more: Callable[[Path, Sandbox], Mapping[Way, GradeTree]] | None = None,
) -> Iterator[Range]:
    """A range in a scratch folder below ``folder``, removed afterwards.

    ``label`` begins the names of its boxes and is made their own. Without ``private`` only the public seeds are run.
    ``more`` makes the graders of further protocols, in the folder that it is given.
    """
    with tempfile.TemporaryDirectory(prefix="attacks-", dir=folder) as scratch:
        place = Path(scratch)
        place.chmod(0o755)
        sealed = task.write_task(place / "task")
        golden = RememberedGolden()

        def grade_sealed(tree: Path, label: str, wall_seconds: float, private: bool) -> Verdict:
            return grade(
                sandbox=sandbox,
                task=replace(sealed, check=replace(sealed.check, wall_seconds=wall_seconds)),
                candidate_tree=tree,
                private_seeds=task.PRIVATE_SEEDS if private else (),
                golden=golden,
                label=label,
            )

        graders: dict[Way, GradeTree] = {Way.SEALED: grade_sealed}
        if more is not None:
            graders |= more(place, sandbox)
        with Bait(place) as bait:
            yield Range(sandbox, place, sealed, bait, f"{label}-{secrets.token_hex(4)}", graders, private)


def fire(
    attacks: Iterable[Attack], target: Range, *, told: Callable[[AttackResult], object] = lambda _: None
) -> list[AttackResult]:
    """Fire each attack by each of its ways; ``told`` hears of each as it ends.

    A fault of ours is tried again, as it is with every run; one that stays counts as not repelled, with its reason.
    """
    results = []
    for attack in attacks:
        for way in target.ways(attack):
            result = _fire_once(attack, way, target)
            results.append(result)
            told(result)
    return results


def _fire_once(attack: Attack, way: Way, target: Range) -> AttackResult:
    begun = time.monotonic()
    expected = attack.expected[way]
    for _ in range(TRIES):
        outcome, reason, traces = _try(attack, way, target)
        if outcome != INFRA:
            break
    repelled = outcome in expected.outcomes and expected.says in reason and not traces
    if traces:
        outcome, reason = ESCAPED, "; ".join(traces)
    elif outcome in expected.outcomes and not repelled:
        reason = f"the reason should say {expected.says!r}: {reason}"
    return AttackResult(attack, way, outcome, repelled, reason, time.monotonic() - begun)


def _try(attack: Attack, way: Way, target: Range) -> tuple[str, str, list[str]]:
    """Outcome, reason, and what was left on the host."""
    try:
        outcome, reason = _outcome(attack, way, target)
        traces = [*target.bait.taken(), *left_behind(target.label, containers=target.sandbox.name == "docker")]
    except (SandboxError, OSError) as error:
        return INFRA, str(error), []
    return outcome, reason, traces


def _outcome(attack: Attack, way: Way, target: Range) -> tuple[str, str]:
    if isinstance(attack, AnswerAttack):
        return _grade_answer(attack, way, target)
    if isinstance(attack, ProgramAttack):
        return _run_program(attack, target)
    if isinstance(attack, PairAttack):
        return pass_bits(attack, target.sandbox, label=target.label, environment=target.task.environment)
    if isinstance(attack, PatchAttack):
        return _apply_patch(attack, target)
    if isinstance(attack, UploadAttack):
        return _read_upload(attack, target)
    raise TypeError(f"{attack.name} is of an unknown kind")


def _grade_answer(attack: AnswerAttack, way: Way, target: Range) -> tuple[str, str]:
    # What a box holds back is seen in one box; only who wants to pass must pass the private cases as well.
    private = attack.group in (Group.TAMPERING, Group.CONTROL) and target.private
    verdicts = [
        target.grade(attack.source, way, wall_seconds=attack.wall_seconds, private=private) for _ in range(attack.runs)
    ]
    lines = [line for verdict in verdicts for line in verdict.log.splitlines()]
    escaped = [line.removeprefix(library.ESCAPED) for line in lines if line.startswith(library.ESCAPED)]
    held = sum(line.startswith(library.HELD) for line in lines)
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
    answer = RawAnswer(task=task.NAME, trial=1, kind=AnswerKind.DIFF, content=attack.diff, file="answer.diff")
    try:
        apply_limited(answer, _files(target))
    except ProtectedPathError as error:
        return REFUSED, error.message
    except AnswerError as error:
        return BAD_PATCH, error.message
    return ACCEPTED, ""


def _read_upload(attack: UploadAttack, target: Range) -> tuple[str, str]:
    path = target.folder / f"upload-{secrets.token_hex(4)}"
    path.write_bytes(attack.make())
    try:
        reading = check_limited(path, BundleRequest(tasks={"attacks": {task.NAME: _files(target)}}))
    except BundleError as error:
        return REFUSED, "; ".join(problem.message for problem in error.problems[-3:])
    finally:
        path.unlink()
    problems = [problem for problem in reading.problems if problem.severity is not Severity.REMARK]
    reason = "; ".join(problem.message for problem in problems[-3:])
    if reading.refused:
        return REFUSED, reason
    return BAD_PATCH if problems else ACCEPTED, reason


def _files(target: Range) -> TaskFiles:
    return TaskFiles(goal=task.GOAL, repository=target.task.repository)
