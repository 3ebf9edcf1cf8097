"""Make trivial answers, which no task may accept, for the audit. See docs/design/verdicts.md.

Each answer keeps the masked definition's signature and decorators and only returns something cheap.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_CONSTANTS = {
    "none": "None",
    "empty list": "[]",
    "empty dict": "{}",
    "zero": "0",
    "zero float": "0.0",
    "one float": "1.0",
    "true": "True",
    "false": "False",
    "empty string": '""',
}


def trivial_answers(goal_source: str) -> dict[str, str]:
    """Return trivial definitions of the goal by name; ``goal_source`` is a function, method or class, indented or not.

    In a class, every method gets the trivial body, except that ``__init__`` does nothing. Answers that use arguments
    are left out if no function has any. Raises :class:`SyntaxError` or :class:`ValueError` for anything but a
    definition.
    """
    goal = parse_definition(goal_source)
    bodies: dict[str, Callable[[_Function], str | None]] = {
        **{name: _constant(literal) for name, literal in _CONSTANTS.items()},
        "empty array": lambda _: "import numpy\nreturn numpy.zeros(0)",
        "first argument": _return_first_argument,
        "zeros like the first array": _return_zeros,
    }
    return {name: source for name, body in bodies.items() if (source := _with_bodies(goal, body))}


def parse_definition(source: str) -> Definition:
    """Parse the function, method or class in ``source``, indented or not. Raises ValueError for anything else."""
    # A method has its class's indentation, and its docstring may have less: so it cannot be dedented.
    indented = source[:1] in (" ", "\t")
    module = ast.parse(f"if True:\n{source}" if indented else source)
    body = module.body
    if indented and isinstance(module.body[0], ast.If):
        body = module.body[0].body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        raise ValueError("the goal source must be exactly one function or class definition")
    return body[0]


def functions_of(definition: Definition) -> list[_Function]:
    """Return the function itself, or the methods of a class."""
    nodes = definition.body if isinstance(definition, ast.ClassDef) else [definition]
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _with_bodies(goal: Definition, body: Callable[[_Function], str | None]) -> str:
    """Return the definition with every function's body replaced; empty if ``body`` fits none of them."""
    answer = copy.deepcopy(goal)
    changed = False
    for function in functions_of(answer):
        source = "pass" if function.name == "__init__" else body(function)
        changed = changed or (source is not None and source != "pass")
        function.body = ast.parse(source or "return None").body
    return f"{ast.unparse(answer)}\n" if changed else ""


def _constant(literal: str) -> Callable[[_Function], str]:
    return lambda _: f"return {literal}"


def _arguments(function: _Function) -> list[str]:
    """Return the names of the arguments that a caller passes, in order, without ``self`` and ``cls``."""
    declared = function.args
    names = [argument.arg for argument in (*declared.posonlyargs, *declared.args)]
    if names and names[0] in ("self", "cls"):
        names = names[1:]
    return names + [argument.arg for argument in declared.kwonlyargs]


def _return_first_argument(function: _Function) -> str | None:
    names = _arguments(function)
    if names:
        return f"return {names[0]}"
    return f"return {function.args.vararg.arg}[0]" if function.args.vararg else None


def _return_zeros(function: _Function) -> str | None:
    names = [*_arguments(function), *([f"*{function.args.vararg.arg}"] if function.args.vararg else [])]
    if not names:
        return None
    return (
        "import numpy\n"
        f"for argument in [{', '.join(names)}]:\n"
        "    if isinstance(argument, numpy.ndarray):\n"
        "        return numpy.zeros_like(argument)\n"
        "    if hasattr(argument, 'new_zeros'):\n"
        "        return argument.new_zeros(argument.shape)\n"
    )
