"""Upstream's test with the answer in one process: for goals whose arguments cannot travel between boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluator.testing import boxes, upstream_verdict
from evaluator.testing.upstream_boxes import test_box

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evaluator.sandbox.types import Sandbox
    from evaluator.testing.types import Data, Verdict
    from evaluator.testing.upstream_types import UpstreamTask


def grade_in_process(
    *, sandbox: Sandbox, task: UpstreamTask, tree: Path, label: str, cancelled: Callable[[], bool] = lambda: False
) -> Verdict:
    """Run the unit test in ``tree``, the repository with the answer in it.

    Raises ``SandboxError`` for faults of ours and ``RunCancelledError``.
    """
    spec, nonce = test_box(task, tree=tree, label=f"{label}-test", remote=False)
    talk = boxes.talk(sandbox, spec, nonce, cancelled=cancelled)
    if len(talk.messages) > 1 or talk.forged or (talk.unfinished and talk.messages):
        return upstream_verdict.tampered(
            task.unit_test_file, "the box sent bytes that its driver does not write", talk.result
        )
    report: Data = talk.messages[0] if talk.messages else None
    return upstream_verdict.judge(report, name=task.unit_test_file, result=talk.result, spec=spec)
