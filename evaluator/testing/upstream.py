"""Grade one answer by upstream's own unit test. DESIGN, section 4, "Upstream protocol".

*Remote* where it can be: the test runs in one box, with the reference repository around it, and each call of the goal
function goes as data to another box that has the answer and nothing of the test. *In-process* where it cannot: the
answer runs beside the test, as upstream does it, and what that does not protect against is said on every page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmark_tasks.domain.goals import Goal, defines_function, find_goal
from benchmark_tasks.domain.python_source import SourceError
from evaluator.testing.types import Outcome
from evaluator.testing.upstream_in_process import grade_in_process
from evaluator.testing.upstream_remote import grade_remote, run_reference
from evaluator.testing.upstream_types import Mode, ModeChoice, UpstreamTask

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.types import Verdict

__all__ = ["Mode", "ModeChoice", "UpstreamTask", "choose_mode", "grade_upstream"]


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
    faults of ours and ``RunCancelledError`` when ``cancelled``.
    """
    if choice.mode is Mode.REMOTE:
        return grade_remote(
            sandbox=sandbox, task=task, tree=tree, choice=choice, scratch=scratch, label=label, cancelled=cancelled
        )
    return grade_in_process(sandbox=sandbox, task=task, tree=tree, label=label, cancelled=cancelled)


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
    run = run_reference(sandbox=sandbox, task=task, scratch=scratch, label=label, cancelled=cancelled)
    if run.verdict.outcome is Outcome.PASSED:
        why = "the test and the goal function exchange plain data"
        return ModeChoice(Mode.REMOTE, why, copies_back=run.changed_arguments, returns=run.returned)
    return ModeChoice(
        Mode.IN_PROCESS, run.obstacle or f"with its goal in another box the reference fails: {run.verdict.reason}"
    )


def why_not_remote(task: UpstreamTask) -> str:
    """What the task's own files say against a remote goal; empty when it is worth a try."""
    if task.goal_file == task.unit_test_file:
        return "the goal function stands in the unit test file itself"
    if task.class_name == task.goal_function:
        return "the goal is a whole class, and objects cannot travel"
    if task.class_name:
        return "the goal is a method, and the object it works on cannot travel"
    try:
        content = (task.reference_repository / task.goal_file).read_bytes()
        found = find_goal(content, Goal(task.name, task.goal_file, task.goal_function))
        is_plain = defines_function(content, task.goal_function) and found.outermost is found.node
    except (OSError, SourceError) as error:
        return f"the goal function cannot be found in {task.goal_file}: {error}"
    return "" if is_plain else "the goal is no plain function at module level"
