"""Whether an environment holds an installed copy of a task's reference, which an answer could just import.

A box lists what is installed (:mod:`evaluator.testing.box.scan`); whether a definition found there is the golden one is
decided here, by its syntax tree. No Django here.
"""

from __future__ import annotations

import ast
import math
import secrets
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.auditing.mutant_rules import drop_docstrings
from evaluator.sandbox.types import BoxSpec, Ending, Limits, Mount, Sandbox, SandboxError
from evaluator.testing import box, boxes
from evaluator.testing.box import frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluator.testing.types import Data

SCAN_SECONDS = 60.0
OUTPUT_BYTES = 16 * 1024 * 1024
LEAST_NODES = 30
"""Definitions smaller than this are the same by chance: ``return self.x`` is nobody's."""
_BOX_FILES = Path(box.__file__).parent
_NOT_TELLING = frozenset({"setup", "conftest", "test", "tests", "unit_test", "docs", "examples", "scripts", "src"})


@dataclass(frozen=True, slots=True)
class ImageScan:
    """What was found. ``modules`` are ``name (path)`` of installed modules called like the repository's packages.

    ``copies`` are paths of installed files with the golden definition; ``complete`` is false when there were more files
    than could be looked at.
    """

    distributions: tuple[str, ...]
    modules: tuple[str, ...]
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
        """What a maintainer should look at."""
        found = [
            f"the environment has a module installed that is called like a package of the repository: {module}"
            for module in self.modules
        ]
        if not self.complete:
            found.append("the environment has more files than the search for a copy of the reference looks at")
        return tuple(found)


def top_level_names(repository: Path) -> tuple[str, ...]:
    """The modules and packages that ``repository`` itself offers for import, but those whose names tell nothing."""
    names = set()
    for folder in (repository, repository / "src"):
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.is_dir() and any(entry.glob("*.py")):
                names.add(entry.name)
            elif entry.suffix == ".py":
                names.add(entry.stem)
    return tuple(sorted(name for name in names - _NOT_TELLING if name.isidentifier()))


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
    """Look for ``golden`` (the source of the golden definition of ``goal_name``) among what ``environment`` installs.

    A copy is a definition of that name in a package called like one of ``repository``'s, or with the golden one's
    syntax tree. Raises :class:`SandboxError` when the box does not finish.
    """
    packages = top_level_names(repository)
    spec, nonce = _scan_box(environment, label=label, order={"name": goal_name, "packages": list(packages)})
    talk = boxes.talk(sandbox, spec, nonce, cancelled=cancelled)
    messages = [message for message in talk.messages if isinstance(message, dict)]
    done = [message for message in messages if message.get("kind") == "done"]
    if talk.result.ending is not Ending.EXITED or not done:
        raise SandboxError(
            f"the search of the environment {environment} ended with {talk.result.ending} before its end"
        )
    wanted, size = _shape(golden)
    modules = {str(each["name"]): str(each["path"]) for each in messages if each.get("kind") == "module"}
    copies = set()
    for each in messages:
        if each.get("kind") == "definition":
            path, source = str(each["path"]), str(each["source"])
            found, _ = _shape(source)
            if path.partition("/")[0].removesuffix(".py") in modules or (found == wanted and size >= LEAST_NODES):
                copies.add(path)
    return ImageScan(
        distributions=_texts(next((each["names"] for each in messages if each.get("kind") == "distributions"), [])),
        modules=tuple(f"{name} ({path})" for name, path in sorted(modules.items())),
        copies=tuple(sorted(copies)),
        complete=bool(done[0].get("complete")),
    )


def _scan_box(environment: str, *, label: str, order: dict[str, Data]) -> tuple[BoxSpec, str]:
    nonce = secrets.token_hex(16)
    mounts = (Mount(_BOX_FILES / "scan.py", "/box/scan.py"), Mount(_BOX_FILES / "frames.py", "/box/frames.py"))
    limits = Limits(wall_seconds=SCAN_SECONDS, cpu_seconds=math.ceil(SCAN_SECONDS), output_bytes=OUTPUT_BYTES)
    spec = BoxSpec(
        f"{label}-scan",
        ("python", "/box/scan.py", nonce),
        mounts,
        stdin=frames.encode(order),
        limits=limits,
        environment=environment,
    )
    return spec, nonce


def _shape(source: str) -> tuple[str, int]:
    """A definition's syntax tree without decorators, docstrings and annotations, and its size; empty for none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(f"if True:\n{source}" if source[:1] in (" ", "\t") else source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", 0
    outer = tree.body[0]
    node = outer.body[0] if isinstance(outer, ast.If) else outer
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        node.decorator_list = []
    drop_docstrings(tree)
    return ast.dump(node), sum(1 for _ in ast.walk(node))


def _texts(value: Data) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list) else ()
