"""Grade one answer by upstream's own unit test. docs/design/verdicts.md.

*Remote* where it can be: the test runs in one box, with the reference repository around it, and each call of the goal
function goes as data to another box that has the answer and nothing of the test. *In-process* where it cannot: the
answer runs beside the test, as upstream does it, and every page shows what that does not protect against.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from benchmark_tasks.domain.goals import defines_function, find_goal
from benchmark_tasks.domain.python_source import SourceError
from evaluator.outcomes import Outcome
from evaluator.sandbox.types import RunCancelledError, SandboxError
from evaluator.testing import boxes, upstream_verdict
from evaluator.testing.logs import clean_log
from evaluator.testing.sealed import ending_text, outcome_of_ending
from evaluator.testing.upstream_boxes import (
    Mode,
    ModeChoice,
    UpstreamTask,
    answer_tree,
    serve_box,
    test_box,
    test_tree,
)
from evaluator.testing.upstream_relay import Relay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evaluator.sandbox.types import BoxResult, BoxSpec, Sandbox
    from evaluator.testing.types import Verdict

__all__ = ["Mode", "ModeChoice", "UpstreamTask", "choose_mode", "grade_upstream"]

GOODBYE_SECONDS = 3.0
"""How long the answer's box may take to end when no more calls come."""


@dataclass(frozen=True, slots=True)
class _RemoteRun:
    """A verdict, and what kept values from being exchanged, if anything did."""

    verdict: Verdict
    obstacle: str


def grade_upstream(
    *,
    sandbox: Sandbox,
    task: UpstreamTask,
    tree: Path,
    choice: ModeChoice,
    scratch: Path,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Run the unit test on ``tree``, the repository with the answer in it, in the way that was chosen for the task.

    ``scratch`` is a folder for temporary trees. Boxes are labelled ``label`` plus a suffix. Raises ``SandboxError`` for
    infrastructure errors and ``RunCancelledError`` when ``cancelled``.
    """
    if choice.mode is Mode.REMOTE:
        relay = Relay(copies_back=choice.copies_back, allowed=choice.returns)
        return _run_remotely(sandbox, task, tree, relay, scratch, label, cancelled).verdict
    spec, nonce = test_box(task, tree=tree, label=f"{label}-test", remote=False)
    talk = boxes.talk(sandbox, spec, nonce, cancelled=cancelled)
    if len(talk.messages) > 1 or talk.forged or (talk.unfinished and talk.messages):
        why = "the box sent bytes that its driver does not write"
        return upstream_verdict.stopped(task.unit_test_file, Outcome.TAMPERING, why, talk.result)
    report: Any = talk.messages[0] if talk.messages else None
    return upstream_verdict.judge(report, name=task.unit_test_file, result=talk.result, spec=spec)


def choose_mode(
    *,
    sandbox: Sandbox,
    task: UpstreamTask,
    scratch: Path,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> ModeChoice:
    """Remote where the reference passes its own test that way, else in-process, with the reason why.

    Raises as :func:`grade_upstream`.
    """
    why = why_not_remote(task)
    if why:
        return ModeChoice(Mode.IN_PROCESS, why)
    relay = Relay(copies_back=True, allowed=None)  # everything that the reference does is taken as right
    run = _run_remotely(sandbox, task, task.reference_repository, relay, scratch, label, cancelled)
    if run.verdict.outcome is Outcome.PASSED:
        why = "the test and the goal function exchange plain data"
        returns = frozenset(relay.returned)
        return ModeChoice(Mode.REMOTE, why, copies_back=relay.changed_arguments, returns=returns)
    why = run.obstacle or f"with its goal in another box the reference fails: {run.verdict.reason}"
    return ModeChoice(Mode.IN_PROCESS, why)


def why_not_remote(task: UpstreamTask) -> str:
    """What the task's own files say against a remote goal; empty when it is worth a try."""
    goal = task.goal
    if goal.file == task.unit_test_file:
        return "the goal function stands in the unit test file itself"
    if goal.class_name == goal.function:
        return "the goal is a whole class, and objects cannot be serialised"
    if goal.class_name:
        return "the goal is a method, and the object it works on cannot be serialised"
    try:
        content = (task.reference_repository / goal.file).read_bytes()
        found = find_goal(content, goal)
    except (OSError, SourceError) as error:
        return f"the goal function cannot be found in {goal.file}: {error}"
    is_plain = defines_function(content, goal.function) and found.outermost is found.node
    return "" if is_plain else "the goal is no plain function at module level"


def _run_remotely(
    sandbox: Sandbox,
    task: UpstreamTask,
    tree: Path,
    relay: Relay,
    scratch: Path,
    label: str,
    cancelled: Callable[[], bool],
) -> _RemoteRun:
    scratch.mkdir(parents=True, exist_ok=True)
    with test_tree(task, scratch) as testing, answer_tree(tree, task.unit_test_file, scratch) as answering:
        test_spec, test_nonce = test_box(task, tree=testing, label=f"{label}-test", remote=True)
        goal_spec, goal_nonce = serve_box(task, tree=answering, label=f"{label}-goal")
        try:
            test_result, goal_result = _converse(sandbox, relay, test_spec, goal_spec, cancelled)
        finally:
            relay.close()
    if goal_result is not None:
        boxes.read_talk(goal_result, goal_spec, goal_nonce)
    name = PurePosixPath(task.unit_test_file).name
    if relay.tampering:
        error = "the answer's box sent bytes that its driver does not write"
        return _RemoteRun(upstream_verdict.stopped(name, Outcome.TAMPERING, error, goal_result), "")
    if relay.lost and goal_result is not None:
        outcome, error = outcome_of_ending(goal_result.ending), ending_text(goal_result, goal_spec)
        return _RemoteRun(upstream_verdict.stopped(name, outcome, error, goal_result), "")
    if test_result is None:
        raise SandboxError(f"box {test_spec.label} sent something else than messages before its test could run")
    talk = boxes.read_talk(test_result, test_spec, test_nonce)
    report: Any = talk.messages[-1] if talk.messages else None
    if not isinstance(report, dict) or report.get("kind") != "report":
        report = None
    verdict = upstream_verdict.judge(report, name=task.unit_test_file, result=test_result, spec=test_spec)
    if goal_result is not None and goal_result.stderr:
        printed = clean_log(goal_result.stderr, truncated=goal_result.stderr_truncated)
        both = f"{verdict.log}\nPrinted by the answer in its own box:\n{printed}"
        verdict = replace(verdict, log=clean_log(both.encode()))
    return _RemoteRun(verdict, upstream_verdict.obstacle(report))


def _converse(
    sandbox: Sandbox, relay: Relay, test_spec: BoxSpec, goal_spec: BoxSpec, cancelled: Callable[[], bool]
) -> tuple[BoxResult | None, BoxResult | None]:
    """Both boxes' results; None for a box that was stopped because of the other one."""
    dismissed = threading.Event()

    def goal_has_ended(serving: Future[BoxResult]) -> None:
        error = serving.exception()
        if error is not None and not isinstance(error, RunCancelledError):
            relay.stopped.set()
        relay.goal_has_ended()

    test_result = None
    with ThreadPoolExecutor(1, thread_name_prefix=goal_spec.label) as pool:
        serving = pool.submit(
            sandbox.run,
            goal_spec,
            cancelled=lambda: dismissed.is_set() or relay.tampering or cancelled(),
            dialogue=relay.goal,
        )
        serving.add_done_callback(goal_has_ended)
        try:
            test_result = sandbox.run(
                test_spec, cancelled=lambda: relay.stopped.is_set() or cancelled(), dialogue=relay.test
            )
        except RunCancelledError:
            if not relay.stopped.is_set():
                raise
        finally:
            relay.test_has_ended()
            wait([serving], GOODBYE_SECONDS)
            dismissed.set()
    error = serving.exception()
    if error is not None and (cancelled() or not isinstance(error, RunCancelledError)):
        raise error
    return test_result, None if error is not None else serving.result()
