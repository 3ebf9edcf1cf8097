"""Check whether an environment has an installed copy of a task's reference, which an answer could simply import.

A box compares the installed definitions of the goal's name with the reference (:mod:`evaluator.testing.box.scan`). No
Django here.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evaluator.sandbox.interface import BoxSpec, Ending, Limits, Mount, Sandbox, SandboxError
from evaluator.testing import box, boxes
from evaluator.testing.box import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.verdicts import Data

SCAN_SECONDS = 120.0
OUTPUT_BYTES = 16 * 1024 * 1024
INCOMPLETE: Final = (
    "the search for an installed copy of the reference ended before it had read the whole environment; a copy in the "
    "rest would matter, because answers could import it: make an environment with fewer packages"
)
_BOX_FILES = Path(box.__file__).parent
_COMMON_NAMES = frozenset({"setup", "conftest", "test", "tests", "unit_test", "docs", "examples", "scripts", "src"})


@dataclass(frozen=True, slots=True)
class ImageScan:
    """``copies`` are paths of installed files with the reference's definition; ``complete`` is false when there were
    too many files to search.
    """

    copies: tuple[str, ...]
    complete: bool

    @property
    def reasons(self) -> tuple[str, ...]:
        """Findings against the environment."""
        return tuple(
            f"the environment has a copy of the reference installed, in {path}: an answer could import it; "
            "take it out of the environment"
            for path in self.copies
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Hints for a maintainer."""
        return () if self.complete else (INCOMPLETE,)

    def as_data(self) -> dict[str, Any]:
        """Return plain data for storing."""
        return {"copies": list(self.copies), "complete": self.complete}


def scan_image(
    *,
    sandbox: Sandbox,
    environment: str,
    repository: Path,
    goal_name: str,
    golden: str,
    label: str,
    cancelled: Callable[[], bool] = lambda: False,
) -> ImageScan:
    """Search the packages of ``environment`` for ``golden``, the source of the reference's ``goal_name``.

    A copy is a definition of that name in a package named like one of ``repository``'s, or with the reference's syntax
    tree. Raises :class:`SandboxError` when the box does not finish.
    """
    nonce = secrets.token_hex(16)
    order: dict[str, Data] = {"name": goal_name, "reference": golden, "packages": [*sorted(_packages_of(repository))]}
    spec = BoxSpec(
        f"{label}-scan",
        ("python", "/box/scan.py", nonce),
        (Mount(_BOX_FILES / "scan.py", "/box/scan.py"), Mount(_BOX_FILES / "frames.py", "/box/frames.py")),
        stdin=frames.encode(order),
        limits=Limits(wall_seconds=SCAN_SECONDS, cpu_seconds=math.ceil(SCAN_SECONDS), output_bytes=OUTPUT_BYTES),
        environment=environment,
    )
    box_output = boxes.run_box(sandbox, spec, nonce, cancelled=cancelled)
    messages = [message for message in box_output.messages if isinstance(message, dict)]
    if box_output.result.ending is not Ending.EXITED or not messages or messages[-1].get("kind") != "done":
        raise SandboxError(
            f"the search of the environment {environment} ended with {box_output.result.ending} before its end"
        )
    copies = {str(message["path"]) for message in messages[:-1]}
    return ImageScan(copies=tuple(sorted(copies)), complete=bool(messages[-1]["complete"]))


def _packages_of(repository: Path) -> set[str]:
    """Return the modules and packages that ``repository`` itself offers for import, except common names."""
    names = set()
    for folder in (repository, repository / "src"):
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.is_dir() and any(entry.glob("*.py")):
                names.add(entry.name)
            elif entry.suffix == ".py":
                names.add(entry.stem)
    return names - _COMMON_NAMES
