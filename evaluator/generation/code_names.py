"""Which names statements bind and use, as far as their text tells."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Final, TypeGuard

from benchmark_tasks.domain.python_source import is_definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BUILTINS: Final = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__class__"}


def bound_names(statement: ast.stmt) -> frozenset[str]:
    """The names that ``statement`` binds in the scope it stands in; what a star import brings is not known."""
    if is_definition(statement):
        return frozenset({statement.name})
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return frozenset(alias.asname or alias.name.split(".")[0] for alias in statement.names)
    names: set[str] = set()
    pending: list[ast.AST] = list(ast.iter_child_nodes(statement))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            names |= bound_names(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        else:
            pending.extend(ast.iter_child_nodes(node))
    return frozenset(names)


def used_names(node: ast.AST) -> frozenset[str]:
    """Every name that is read anywhere in ``node``, but for those that it only gives itself (locals, parameters)."""
    loaded: set[str] = set()
    given: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            (loaded if isinstance(part.ctx, ast.Load) else given).add(part.id)
        elif isinstance(part, ast.arg):
            given.add(part.arg)
    return frozenset(loaded - given)


def module_names(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that a module has after its statements have run."""
    return frozenset(name for statement in statements for name in bound_names(statement))


def flat(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, with those in an ``if True:`` in its place."""
    for statement in statements:
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Constant) and statement.test.value is True:
            yield from flat(statement.body)
        else:
            yield statement


def is_star_import(statement: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    """``from … import *``."""
    return isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"


def is_future_import(statement: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    """``from __future__ import …``."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def is_stub(node: ast.AST) -> bool:
    """Whether a definition does nothing: its body is empty, ``...``, or raises NotImplementedError."""
    return is_definition(node) and all(_does_nothing(statement) for statement in node.body)


def signature(node: ast.AST) -> tuple[str, ...] | None:
    """The names of a function's parameters in their order, starred ones with their stars; None for anything else."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    given = node.args
    starred = [mark + part.arg for mark, part in (("*", given.vararg), ("**", given.kwarg)) if part is not None]
    return (*(part.arg for part in (*given.posonlyargs, *given.args, *given.kwonlyargs)), *starred)


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass)
