"""Knowledge of the simulated models: the golden answers of a suite folder, and which task a prompt is about."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Self

LMR_MINI = Path(__file__).resolve().parents[2] / "benchmark_tasks" / "suites" / "lmr-mini"
STUB = "    return None"
# A name in a dumped tree that is no keyword of a call: read or stored, a parameter, a function or an exception.
BOUND = re.compile(r"(?<!keyword\()\b(id|arg|name)='(\w+)'(?:, ctx=\w+\(\))?")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Known:
    """One task. Definitions hold their decorators and are indented as in their file, but for ``wrong``.

    ``others`` are other right answers, ``wrong`` is a wrong one; ``masked`` is the definition to be replaced.
    """

    number: int
    goal_file: str
    goal_function: str
    class_name: str
    golden: str
    masked: str
    others: tuple[str, ...]
    wrong: str

    @property
    def is_odd(self) -> bool:
        return self.number % 2 == 1

    def score(self, text: str) -> int:
        """Rate how much a prompt mentions this task: its file counts more than its function's name."""
        names = (f"`{self.goal_function}`", f"def {self.goal_function}(", f".{self.goal_function}`")
        return 4 * text.count(self.goal_file) + sum(name in text for name in names)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All tasks of a suite."""

    tasks: tuple[Known, ...]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read a suite folder as ``benchmark_tasks`` reads it."""
        return cls(_tasks(folder))

    def task_of(self, text: str) -> Known | None:
        """The task that a prompt is about; ``None`` if it mentions none."""
        best = max(self.tasks, key=lambda task: task.score(text), default=None)
        return best if best is not None and best.score(text) else None

    def is_right(self, code: str) -> bool:
        """Whether code is a golden or alternative answer, ignoring comments, docstrings and layout."""
        shape = shape_of(code)
        right = {shape_of(text) for task in self.tasks for text in (task.golden, *task.others)}
        return shape is not None and shape in right


@cache
def _tasks(folder: Path) -> tuple[Known, ...]:
    found: list[Known] = []
    for info_file in sorted(folder.glob("*/info.json")):
        info = json.loads(info_file.read_text(encoding="utf-8"))
        for implementation in info["implementations"]:
            found.append(_known(info_file.parent, info, implementation, len(found) + 1))
    return tuple(found)


def _known(folder: Path, info: Mapping[str, Any], implementation: Mapping[str, Any], number: int) -> Known:
    name, class_name, index = implementation["goal_function"], implementation["class_name"], implementation["index"]
    masked_file = folder / info["repo_folder_name"] / implementation["goal_file"]
    golden_text = (folder / implementation["golden_file"]).read_text(encoding="utf-8")
    masked_text = masked_file.read_text(encoding="utf-8")
    golden = definition(golden_text, name, class_name)
    wrong = folder / "samples" / f"wrong_{index}.py"
    return Known(
        number=number,
        goal_file=implementation["goal_file"],
        goal_function=name,
        class_name=class_name,
        golden=golden,
        masked=definition(masked_text, name, class_name),
        others=tuple(
            file.read_text(encoding="utf-8") for file in sorted(folder.glob(f"samples/alternative_{index}*.py"))
        ),
        wrong=wrong.read_text(encoding="utf-8") if wrong.exists() else stub_of(golden),
    )


def definition(text: str, name: str, class_name: str) -> str:
    """The definition's lines in a file, decorators included."""
    body: list[ast.stmt] = ast.parse(text).body
    if class_name:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == class_name).body
    node = next(node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"


def stub_of(source: str) -> str:
    """The same signature with a body that does nothing."""
    node = function_in(source)
    lines = textwrap.dedent(source).splitlines()
    return "\n".join([*lines[: node.body[0].lineno - 1], STUB]) + "\n" if node is not None else source


def function_in(code: str) -> Function | None:
    """The first function of the code, whatever its indentation; ``None`` where it does not parse."""
    try:
        tree = ast.parse(textwrap.dedent(code.expandtabs(4)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return next((node for node in ast.walk(tree) if isinstance(node, Function)), None)


@lru_cache(maxsize=4096)
def shape_of(code: str) -> str | None:
    """The first function as comparable text: its syntax tree without string statements, locals numbered in order."""
    node = function_in(code)
    if node is None:
        return None
    for inner in ast.walk(node):
        if isinstance(inner, Function | ast.ClassDef):
            inner.body = [part for part in inner.body if not _is_remark(part)] or [ast.Pass()]
    # The function's own parameters are its interface and keep their names.
    own = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
    named = {found[2] for found in BOUND.finditer(ast.dump(node)) if found[0].endswith("Store()") or found[1] != "id"}
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        if found[2] not in named - own:
            return found[0]
        return f"{found[1]}={numbers.setdefault(found[2], len(numbers))}"

    return BOUND.sub(numbered, ast.dump(node))


def _is_remark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
