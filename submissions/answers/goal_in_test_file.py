"""Where the goal's file is itself a test file: only the goal's definition may change in it, and nothing may run early.

Three of upstream's tasks are like that. The test runs in the process that loads the answer, so as much as can be is
kept as it was: every line around the definition, the syntax tree around it (a definition that is indented anew would
move into another one), and what Python evaluates when it reads the definition rather than when the test calls it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from benchmark_tasks.domain.python_source import is_definition, same_code
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmark_tasks.domain.goals import FoundGoal, Goal
    from benchmark_tasks.domain.python_source import Definition

_HARMLESS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.keyword),
    *(ast.Tuple, ast.List, ast.Dict, ast.Set, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context),
)
_KNOWN_CALLS = frozenset(
    (
        *("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled"),
        *("functools.lru_cache", "lru_cache", "functools.cache", "property"),
    )
)
"""Calls that models write as decorators, and that run nothing of theirs."""


def check_goal_alone(
    pristine: FoundGoal, result: FoundGoal, goal: Goal, refusal: Callable[..., AnswerError] = AnswerError
) -> None:
    """Raise unless ``result`` is ``pristine`` with another definition of the goal, which runs nothing when it is read.

    ``refusal`` is raised for a change around the definition, AnswerError for one inside it.
    """
    if _around(pristine) != _around(result) or not same_around(pristine, result):
        raise refusal(
            f"{goal.file} is a protected file that also holds the goal; only the definition of {goal.function!r} "
            "may change there (put imports and helpers inside it).",
            file=goal.file,
        )
    line = next((found.lineno for found in _evaluated_early(result.node) if not _is_harmless(found, pristine)), None)
    if line is not None:
        message = (
            f"{goal.file} is a test file that also holds the goal, so decorators, default values, annotations and a "
            f"class's own statements of {goal.function!r} may only name things there; move the call into the body."
        )
        raise AnswerError(message, line=line, file=goal.file)


def with_goal_of(pristine: FoundGoal, result: FoundGoal) -> bytes:
    """The pristine file with the goal's lines of ``result`` in place of its own."""
    lines = pristine.source.lines
    text = result.text
    last = lines[pristine.last_line - 1]
    ending = last[len(last.rstrip("\r\n")) :]
    if not text.endswith(("\n", "\r")):
        text += ending
    joined = "".join([*lines[: pristine.first_line - 1], text, *lines[pristine.last_line :]])
    return pristine.source.mark + joined.encode()


def _around(found: FoundGoal) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
    """What is not the goal: the byte order mark and the lines before and after."""
    lines = found.source.lines
    return found.source.mark, lines[: found.first_line - 1], lines[found.last_line :]


def same_around(pristine: FoundGoal, result: FoundGoal, *, docstrings: bool = True) -> bool:
    """Whether two files' syntax trees are the same but for the goal's definition, perhaps without ``docstrings``."""
    but = (pristine.node, result.node)
    return same_code(pristine.source.tree, result.source.tree, docstrings=docstrings, but=but)


def _evaluated_early(node: Definition) -> Iterator[ast.expr | ast.stmt]:
    """The expressions that Python evaluates when it reads the definition.

    A whole class runs when it is read; of one, what its own definitions evaluate is looked at, and whatever stands
    beside them. What does more there than give names to values (an import, ``Test.check = other``) comes as a whole.
    """
    yield from node.decorator_list
    if isinstance(node, ast.ClassDef):
        yield from node.bases
        yield from (keyword.value for keyword in node.keywords)
        for statement in node.body:
            if is_definition(statement):
                yield from _evaluated_early(statement)
            elif _only_gives_names(statement):
                yield from (child for child in ast.walk(statement) if isinstance(child, ast.expr))
            else:
                yield statement
        return
    yield from node.args.defaults
    yield from (default for default in node.args.kw_defaults if default is not None)
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    yield from (argument.annotation for argument in arguments if argument is not None and argument.annotation)
    if node.returns:
        yield node.returns


def _only_gives_names(statement: ast.stmt) -> bool:
    """Whether this sets names of the class that it stands in, at most."""
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) for target in statement.targets)
    if isinstance(statement, ast.AnnAssign):
        return isinstance(statement.target, ast.Name)
    return isinstance(statement, ast.Expr | ast.Pass)


def _is_harmless(expression: ast.expr | ast.stmt, pristine: FoundGoal) -> bool:
    """Whether evaluating this calls nothing but a few well-known decorators with constants, or stood there before."""
    if any(same_code(expression, known) for known in _evaluated_early(pristine.node)):
        return True
    if isinstance(expression, ast.Call):
        given = [*expression.args, *(word.value for word in expression.keywords)]
        return ast.unparse(expression.func) in _KNOWN_CALLS and all(_names_only(argument) for argument in given)
    return _names_only(expression)


def _names_only(expression: ast.expr | ast.stmt) -> bool:
    return all(isinstance(node, _HARMLESS) for node in ast.walk(expression))
