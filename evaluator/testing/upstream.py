"""Grade one answer by upstream's own unit test. See docs/design/verdicts.md.

The answer runs in the test's box, as in upstream's own setup; every page states what this does not protect against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluator.outcomes import Outcome
from evaluator.testing import boxes, upstream_verdict
from evaluator.testing.upstream_boxes import test_box

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evaluator.sandbox.interface import Sandbox
    from evaluator.testing.upstream_boxes import UpstreamTask
    from evaluator.testing.verdicts import Verdict


def grade_upstream(
    *,
    sandbox: Sandbox,
    task: UpstreamTask,
    tree: Path,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Run the unit test on ``tree``, the repository with the answer in it, and return the verdict.

    The box is labelled ``label`` plus a suffix. Raises ``SandboxError`` for infrastructure errors and
    ``RunCancelledError`` when ``cancelled``.
    """
    spec, nonce = test_box(task, tree=tree, label=f"{label}-test")
    box_output = boxes.run_box(sandbox, spec, nonce, cancelled=cancelled)
    if len(box_output.messages) > 1 or box_output.forged or (box_output.unfinished and box_output.messages):
        why = "the box sent bytes that its driver does not write"
        return upstream_verdict.stopped(task.unit_test_file, Outcome.TAMPERING, why, box_output.result)
    report: Any = box_output.messages[0] if box_output.messages else None
    return upstream_verdict.judge(report, name=task.unit_test_file, result=box_output.result, spec=spec)
