"""The site's own small task with some parts replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evaluator.auditing import canary_round
from evaluator.auditing.canary_round import CHECK, GOLDEN, STUB, write_tree

if TYPE_CHECKING:
    from pathlib import Path

    from evaluator.testing.verdicts import Check, SealedTask

__all__ = ["CHECK", "GOLDEN", "STUB", "write_task", "write_tree"]


def write_task(
    root: Path, *, golden: str = GOLDEN, cases: str | None = None, run: str | None = None, check: Check = CHECK
) -> SealedTask:
    """Write the whole task below ``root``."""
    task = replace(canary_round.write_task(root), check=check)
    write_tree(root / "reference", golden)
    for file, text in ((task.cases_file, cases), (task.run_file, run)):
        if text is not None:
            file.write_text(text)
    return task
