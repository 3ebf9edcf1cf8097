"""The evaluator's own files that decide verdicts, and their digest: a release's audits hold for this code alone.

No Django here.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
_DECIDING: Final = (
    *("benchmark_tasks/domain/goals.py", "benchmark_tasks/domain/python_source.py", "benchmark_tasks/domain/seeds.py"),
    *("submissions/answers/answer_source.py", "submissions/answers/splice.py", "evaluator/outcomes.py"),
    *("evaluator/sandbox/*.py", "evaluator/testing/*.py", "evaluator/testing/box/*.py", "evaluator/auditing/*.py"),
)
_OTHERS: Final = {
    "evaluator/auditing": "auditing canary_round deciding released self_checks watching",
    "evaluator/sandbox": "building configuration measuring preparing task_environments",
    "evaluator/testing": "claims evaluate finalising infrastructure_errors planning progress results shown_outcomes",
    "evaluator/testing/box": "agent_driver",
}
"""Files of these folders that queue, store, show, prepare, measure or attack."""


def deciding_files() -> list[Path]:
    """Return the files that decide verdicts, sorted."""
    others = {ROOT / folder / f"{name}.py" for folder, names in _OTHERS.items() for name in names.split()}
    return sorted({path for pattern in _DECIDING for path in ROOT.glob(pattern)} - others)


@cache
def code_digest() -> str:
    """Return SHA-256 of what the deciding files do: comments, docstrings and layout do not count."""
    digest = hashlib.sha256()
    for path in deciding_files():
        for part in (path.relative_to(ROOT).as_posix(), *_parts(ast.parse(path.read_bytes()))):
            digest.update(f"{part}\n".encode())
    return digest.hexdigest()


def _parts(value: object) -> Iterator[str]:
    """Yield the parts of a syntax tree. Not ``ast.dump``: it names fields that only some versions of Python have."""
    if isinstance(value, ast.Expr) and isinstance(value.value, ast.Constant) and isinstance(value.value.value, str):
        return  # a docstring
    if isinstance(value, ast.AST):
        yield type(value).__name__
        for name, part in ast.iter_fields(value):
            if part not in (None, []):
                yield name
                yield from _parts(part)
        yield "."
    elif isinstance(value, list):
        for part in value:
            yield from _parts(part)
    else:
        yield repr(value)
