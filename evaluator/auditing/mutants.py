"""Make mutants of a definition: the same code with one small mistake each. No Django here.

A test that cannot distinguish a mutant from the reference implementation is weak there. The libraries mutmut and
cosmic-ray are unsuitable: they mutate whole packages on disk and run them with their own test runner outside any box.

Code without effect on outputs is left alone: docstrings, annotations, decorators, log lines, assertions, raised
exceptions, and branches that only raise.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)

_FINGERPRINT = re.compile(r"line \d+: [0-9a-f]{12}")
_SHOWN_HEAD, _SHOWN_TAIL = 70, 30
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
# Functions whose arguments commute: swapping them changes nothing.
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
class Mutant:
    """One changed definition.

    ``id`` is like ``line 12: `a < b` -> `a <= b```: lines count from the definition's first one, and ids are unique
    within a definition. ``source`` is the whole changed definition as :func:`ast.unparse` writes it, ``diff`` a unified
    diff from the unchanged one in the same form.
    """

    id: str
    source: str
    diff: str


def fingerprint(name: str) -> str:
    """Return a mutant's ``id`` without quoted code, such as ``line 12: 3f2a9c1b7e4d``; a fingerprint stays the same.

    This allows declaring mutants equivalent in code whose licence does not allow quoting it here.
    """
    if _FINGERPRINT.fullmatch(name):
        return name
    return f"{name.partition(':')[0]}: {hashlib.sha256(name.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class _Change:
    """``node`` becomes ``replacement``. ``what`` describes it where the source texts are unsuitable."""

    node: ast.expr | ast.stmt
    replacement: ast.AST
    what: tuple[str, str] | None = None


def mutants_of(definition: str) -> list[Mutant]:
    """Return every mutant of one function, method or class, indented or not, in the order of its lines.

    Each compiles and differs from ``definition`` and from every other mutant. Raises SyntaxError for a text that is not
    a definition.
    """
    # A method has its class's indentation, and its docstring may have less: so it cannot be dedented.
    indented = definition[:1] in (" ", "\t")
    text = f"if True:\n{definition}" if indented else definition
    with warnings.catch_warnings():
        # Mutants like `1 is 2` are intended, and old escapes belong to the task.
        warnings.simplefilter("ignore")
        module = ast.parse(text)
        if indented and isinstance(module.body[0], ast.If):
            module = ast.Module(body=module.body[0].body, type_ignores=[])
        return list(_distinct(module, text, first_line=2 if indented else 1))


def sample(mutants: Sequence[Mutant], limit: int) -> list[Mutant]:
    """Return at most ``limit`` of ``mutants``, evenly spread and deterministic."""
    count = min(len(mutants), limit)
    return [mutants[place * len(mutants) // count] for place in range(count)]


def _distinct(module: ast.Module, text: str, *, first_line: int) -> Iterator[Mutant]:
    original = ast.unparse(module)
    seen = {original}
    numbers: dict[str, int] = {}
    titled = [(_title(change, text, first_line), change) for change in _changes(module.body[0])]
    for title, change in sorted(titled, key=lambda each: (each[1].node.lineno, each[1].node.col_offset, each[0])):
        _Replace(change.node, change.replacement).visit(module)
        source = ast.unparse(module)
        _Replace(change.replacement, change.node).visit(module)
        if source not in seen and _compiles(source):
            seen.add(source)
            numbers[title] = numbers.get(title, 0) + 1
            name = title if numbers[title] == 1 else f"{title} ({numbers[title]})"
            diff = difflib.unified_diff(
                original.splitlines(), source.splitlines(), "reference", "mutant", n=2, lineterm=""
            )
            yield Mutant(name, f"{source}\n", "\n".join(diff))


class _Replace(ast.NodeTransformer):
    """Replaces one node by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _title(change: _Change, text: str, first_line: int) -> str:
    before, after = change.what or (
        ast.get_source_segment(text, change.node) or "",
        ast.unparse(change.replacement),
    )
    return f"line {change.node.lineno - first_line + 1}: `{_shortened(before)}` -> `{_shortened(after)}`"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_HEAD + _SHOWN_TAIL else f"{line[:_SHOWN_HEAD]} … {line[-_SHOWN_TAIL:]}"


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _changes(definition: ast.AST) -> Iterator[_Change]:
    """Yield every change to ``definition``, in no particular order; some change nothing or do not compile."""
    for node, parent in _observable(definition):
        if isinstance(node, ast.comprehension):
            yield from (_Change(test, ast.Constant(True)) for test in node.ifs)
        elif isinstance(node, ast.expr | ast.stmt):
            if isinstance(node, ast.stmt) and not isinstance(node, _NEVER_DROPPED):
                yield _Change(node, ast.Pass())
            yield from _special_changes(node)
            yield from (_Change(node, each) for each in _replacements(node, parent))
        if isinstance(node, Function):
            yield from _early_returns(node)


def _special_changes(node: ast.expr | ast.stmt) -> Iterator[_Change]:
    """Yield changes of conditions and loops, with their own descriptions."""
    match node:
        case ast.If() | ast.IfExp():
            text = f"if {ast.unparse(node.test)}"
            yield _Change(node.test, ast.Constant(True), what=(text, "if True"))
            yield _Change(node.test, ast.Constant(False), what=(text, "if False"))
            if isinstance(node, ast.If) and node.orelse:
                yield _Change(node, _like(node, orelse=[]), what=("else", "no else"))
        case ast.While():
            yield _Change(node.test, ast.Constant(False))
        case ast.For() | ast.AsyncFor():
            target = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
            yield _Change(node, _like(node, body=[*node.body, ast.Break()]), what=(target, "only its first round"))


def _replacements(node: ast.expr | ast.stmt, parent: ast.AST) -> list[ast.AST]:
    match node:
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            return [ast.Return(ast.Constant(None))]
        case ast.BinOp() | ast.AugAssign():
            return [_like(node, op=_OPERATORS[type(node.op)]())]
        case ast.BoolOp():
            return [_like(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]
        case ast.Compare():
            return _other_comparisons(node)
        case ast.UnaryOp():
            return [node.operand]
        case ast.Call():
            return [*_swapped_arguments(node), *_dropped_keywords(node)]
        case ast.Slice():
            return [_like(node, **{bound: None}) for bound in ("lower", "upper", "step")]
        case ast.Constant():
            return _other_constants(node.value, parent)
        case ast.JoinedStr():
            return [ast.Constant("")]
    return []


def _observable(definition: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield nodes whose change can affect outputs, each with its parent."""
    pending: list[tuple[ast.AST, ast.AST]] = [(definition, definition)]
    while pending:
        node, parent = pending.pop()
        if _is_unobservable(node):
            continue
        yield node, parent
        # Before Python 3.12 nodes in an f-string have no source position, so they could not be named.
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
    """Return whether it is a lone string, or only writes a log line."""
    if not isinstance(statement, ast.Expr):
        return False
    if isinstance(statement.value, ast.Constant):
        return True
    root: ast.expr = statement.value
    while isinstance(root, ast.Call | ast.Attribute):
        root = root.func if isinstance(root, ast.Call) else root.value
    return isinstance(statement.value, ast.Call) and isinstance(root, ast.Name) and root.id in _LOGGERS


def _other_comparisons(node: ast.Compare) -> list[ast.AST]:
    return [
        _like(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])
        for place, operator in enumerate(node.ops)
        for other in _COMPARISONS[type(operator)]
    ]


def _swapped_arguments(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for place in range(len(node.args) - 1):
        first, second = node.args[place : place + 2]
        if name not in _COMMUTATIVE and not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            yield _like(node, args=[*node.args[:place], second, first, *node.args[place + 2 :]])


def _dropped_keywords(node: ast.Call) -> Iterator[ast.AST]:
    for dropped in node.keywords:
        if dropped.arg is not None:
            yield _like(node, keywords=[each for each in node.keywords if each is not dropped])


def _other_constants(value: object, parent: ast.AST) -> list[ast.AST]:
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
    """Return a number as Python's grammar represents it: a sign is an operator."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _early_returns(function: Function) -> Iterator[_Change]:
    """Yield early returns: replace a statement by the final return, once all names in that are bound."""
    final = function.body[-1].value if isinstance(function.body[-1], ast.Return) else None
    wanted = {node.id for node in ast.walk(final) if isinstance(node, ast.Name)} if final is not None else set()
    bound = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    assigned = {node.id for node in _stored_names(function.body)}
    for place, statement in enumerate(function.body[:-1]):
        is_first = place == 0 or (place == 1 and _is_remark(function.body[0]))
        ready = (wanted & assigned) <= bound
        if ready and not is_first and not isinstance(statement, _NEVER_DROPPED) and not _is_unobservable(statement):
            yield _Change(statement, ast.Return(final))
        bound |= {node.id for node in _stored_names([statement])}


def _stored_names(body: Sequence[ast.stmt]) -> Iterator[ast.Name]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _like(node: _Node, **fields: object) -> _Node:
    """Return a shallow copy of ``node`` with some fields replaced."""
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **fields}), node)
