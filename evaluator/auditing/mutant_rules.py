"""Which small changes to a definition are worth trying: one node of its syntax tree replaced by another. No text here.

Left alone is what nobody can observe in outputs: docstrings, annotations, decorators, log lines, assertions, what is
raised, and the branches that only raise.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# Whose arguments may stand in any order: swapping them changes nothing.
_COMMUTATIVE = frozenset(
    {"max", "min", "maximum", "minimum", "fmax", "fmin", "add", "multiply", "mul", "logical_and", "logical_or"}
    | {"isclose", "allclose", "array_equal", "equal"}
)
_LOGGERS = frozenset({"logging", "logger", "log", "_logger", "_log", "LOGGER", "LOG", "warnings", "print", "pprint"})
_TEXT_METHODS = frozenset({"__repr__", "__str__", "__format__", "extra_repr"})
_NEVER_DROPPED = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom),
    *(ast.Global, ast.Nonlocal, ast.Pass, ast.Return),
)


@dataclass(frozen=True, slots=True)
class Change:
    """``node`` becomes ``replacement``. ``what`` says it for people where their source texts would not."""

    node: ast.AST
    replacement: ast.AST
    what: tuple[str, str] | None = None


def changes(definition: ast.AST) -> Iterator[Change]:
    """Every change to ``definition``, in no particular order; some may leave it as it is, or not compile."""
    for node, parent in _observable(definition):
        if isinstance(node, ast.stmt):
            yield from _statement_changes(node)
        elif isinstance(node, ast.expr):
            yield from _expression_changes(node, parent)
        elif isinstance(node, ast.comprehension):
            yield from (Change(test, ast.Constant(True)) for test in node.ifs)
    for function in _functions(definition):
        yield from _early_returns(function)


def drop_docstrings(tree: _Node) -> _Node:
    """``tree``, changed in place, without docstrings and annotations: what is left is what it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            if not isinstance(node, ast.ClassDef):
                node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return tree


def _observable(definition: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Nodes whose change can be seen from outside, each with its parent."""
    pending: list[tuple[ast.AST, ast.AST]] = [(definition, definition)]
    while pending:
        node, parent = pending.pop()
        if _is_unobservable(node):
            continue
        yield node, parent
        # Before Python 3.12 what is in an f-string has no place in the text, so it is only changed as a whole.
        if not isinstance(node, ast.JoinedStr):
            pending.extend((child, node) for child in _children(node))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    skipped = {"annotation", "returns", "decorator_list", "type_comment", "ctx"}
    for name, value in ast.iter_fields(node):
        if name not in skipped:
            yield from (
                child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)
            )


def _is_unobservable(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.pattern):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name in _TEXT_METHODS
    if isinstance(node, ast.If):
        return not node.orelse and all(isinstance(each, ast.Raise) or _is_remark(each) for each in node.body)
    return isinstance(node, ast.stmt) and _is_remark(node)


def _is_remark(statement: ast.stmt) -> bool:
    """Whether it is a string that stands alone, or only writes a log line."""
    if not isinstance(statement, ast.Expr):
        return False
    if isinstance(statement.value, ast.Constant):
        return True
    root: ast.expr = statement.value
    while isinstance(root, ast.Call | ast.Attribute):
        root = root.func if isinstance(root, ast.Call) else root.value
    return isinstance(statement.value, ast.Call) and isinstance(root, ast.Name) and root.id in _LOGGERS


def _statement_changes(node: ast.stmt) -> Iterator[Change]:
    if not isinstance(node, _NEVER_DROPPED):
        yield Change(node, ast.Pass())
    if isinstance(node, ast.If):
        yield from _condition_changes(node.test, "if")
        if node.orelse:
            yield Change(node, _like(node, orelse=[]), what=("else", "no else"))
    elif isinstance(node, ast.While):
        yield Change(node.test, ast.Constant(False))
    elif isinstance(node, ast.For | ast.AsyncFor):
        target = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        yield Change(node, _like(node, body=[*node.body, ast.Break()]), what=(target, "only its first round"))
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield Change(node, ast.Return(ast.Constant(None)))
    elif isinstance(node, ast.AugAssign):
        yield Change(node, _like(node, op=_OPERATORS[type(node.op)]()))


def _condition_changes(test: ast.expr, word: str) -> Iterator[Change]:
    text = f"{word} {ast.unparse(test)}"
    yield Change(test, ast.Constant(True), what=(text, f"{word} True"))
    yield Change(test, ast.Constant(False), what=(text, f"{word} False"))


def _expression_changes(node: ast.expr, parent: ast.AST) -> Iterator[Change]:
    replacements: list[ast.expr] = []
    match node:
        case ast.BinOp():
            replacements = [_like(node, op=_OPERATORS[type(node.op)]())]
        case ast.BoolOp():
            replacements = [_like(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]
        case ast.Compare():
            replacements = _other_comparisons(node)
        case ast.UnaryOp():
            replacements = [node.operand]
        case ast.IfExp():
            yield from _condition_changes(node.test, "if")
        case ast.Call():
            replacements = [*_swapped_arguments(node), *_dropped_keywords(node)]
        case ast.Slice():
            replacements = [_like(node, **{bound: None}) for bound in ("lower", "upper", "step")]
        case ast.Constant():
            replacements = _other_constants(node.value, parent)
        case ast.JoinedStr():
            replacements = [ast.Constant("")]
    yield from (Change(node, replacement) for replacement in replacements)


def _other_comparisons(node: ast.Compare) -> list[ast.expr]:
    return [
        _like(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])
        for place, operator in enumerate(node.ops)
        for other in _COMPARISONS[type(operator)]
    ]


def _swapped_arguments(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for place in range(len(node.args) - 1):
        first, second = node.args[place : place + 2]
        if name not in _COMMUTATIVE and not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            yield _like(node, args=[*node.args[:place], second, first, *node.args[place + 2 :]])


def _dropped_keywords(node: ast.Call) -> Iterator[ast.expr]:
    for dropped in node.keywords:
        if dropped.arg is not None:
            yield _like(node, keywords=[each for each in node.keywords if each is not dropped])


def _other_constants(value: object, parent: ast.AST) -> list[ast.expr]:
    if isinstance(value, bool):
        return [ast.Constant(not value)]
    if isinstance(value, int):
        return [_number(value + 1), _number(value - 1)]
    if isinstance(value, float):
        negated = isinstance(parent, ast.UnaryOp) or value == 0
        return [_number(value + 1.0)] if negated else [_number(value + 1.0), _number(-value)]
    if isinstance(value, str):
        return [ast.Constant("" if value else "x")]
    return []


def _number(value: float) -> ast.expr:
    """A number as Python's grammar has it: a sign is an operator."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _early_returns(function: Function) -> Iterator[Change]:
    """Return in the place of a statement: what is returned in the end, once its names are all bound."""
    final = function.body[-1].value if isinstance(function.body[-1], ast.Return) else None
    wanted = {node.id for node in ast.walk(final) if isinstance(node, ast.Name)} if final is not None else set()
    bound = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    assigned = {node.id for node in _stored_names(function.body)}
    for place, statement in enumerate(function.body[:-1]):
        is_first = place == 0 or (place == 1 and _is_remark(function.body[0]))
        ready = (wanted & assigned) <= bound
        if ready and not is_first and not isinstance(statement, _NEVER_DROPPED) and not _is_unobservable(statement):
            yield Change(statement, ast.Return(final))
        bound |= {node.id for node in _stored_names([statement])}


def _stored_names(body: Sequence[ast.stmt]) -> Iterator[ast.Name]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node


def _functions(definition: ast.AST) -> Iterator[Function]:
    for node, _ in _observable(definition):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _like(node: _Node, **fields: object) -> _Node:
    """A shallow copy of ``node`` with some fields replaced."""
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})
