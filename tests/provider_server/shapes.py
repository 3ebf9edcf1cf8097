"""When two pieces of Python are the same function: syntax trees without remarks, locals numbered as they come up."""

from __future__ import annotations

import ast
import textwrap
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=4096)
def shape_of(code: str) -> str | None:
    """The function (in a class or not) as text to compare; ``None`` where it does not parse or there is none."""
    node = function_in(code)
    if node is None:
        return None
    for inner in ast.walk(node):
        if isinstance(inner, Function | ast.ClassDef):
            inner.body = [part for part in inner.body if not _is_remark(part)] or [ast.Pass()]
    return ast.dump(_Numbering(_locals(node)).visit(node))


def function_in(code: str) -> Function | None:
    """The first function of the code, whatever its indentation; ``None`` where it does not parse."""
    try:
        tree = ast.parse(textwrap.dedent(code.expandtabs(4)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return next((node for node in ast.walk(tree) if isinstance(node, Function)), None)


def _is_remark(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _locals(function: Function) -> set[str]:
    """What the function binds itself. Its own parameters are its interface and keep their names."""
    own = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    found = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(function):
        if isinstance(node, Function | ast.Lambda) and node is not function:
            found |= {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            found |= {node.name} if isinstance(node, Function) else set()
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found - own


class _Numbering(ast.NodeTransformer):
    """Gives each local the number of its first appearance."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.numbers: dict[str, str] = {}

    def numbered(self, name: str) -> str:
        if name not in self.names:
            return name
        return self.numbers.setdefault(name, f"local{len(self.numbers)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.numbered(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.numbered(node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.numbered(node.name)
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self.numbered(node.name) if node.name else None
        return self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        node.names = [self.numbered(name) for name in node.names]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in self.names:
            for keyword in node.keywords:
                keyword.arg = self.numbered(keyword.arg) if keyword.arg else None
        return self.generic_visit(node)
