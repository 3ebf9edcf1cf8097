"""Mutants of a golden definition: the same text with one small mistake each. No Django here.

A test that cannot tell a mutant from the golden function is weak there. mutmut and cosmic-ray, the kept-up libraries,
were passed over: each mutates whole packages on disk and runs them with a test runner of its own outside of any box.
"""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmark_tasks.domain.python_source import split_lines
from evaluator.auditing.mutant_rules import Change, changes, drop_docstrings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADER = "if True:\n"
_SHOWN_HEAD, _SHOWN_TAIL = 70, 30


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed definition.

    ``id`` is like ``line 12: `a < b` -> `a <= b```: the line counts from the definition's first one, and no two mutants
    of a definition have the same. ``source`` is the whole changed definition, ``diff`` a unified diff from the golden.
    """

    id: str
    source: str
    diff: str


def mutants_of(definition: str) -> list[Mutant]:
    """Every mutant of one function, method or class, indented or not, in the order of its lines.

    Each compiles and differs from ``definition`` in what it does, as far as its syntax tells; no two are the same.
    Raises SyntaxError for a text that is no definition.
    """
    return list(_distinct(_Definition(definition)))


def sample(mutants: Sequence[Mutant], limit: int) -> list[Mutant]:
    """At most ``limit`` of ``mutants``, evenly spread: the same ones every time."""
    count = min(len(mutants), limit)
    return [mutants[place * len(mutants) // count] for place in range(count)]


@dataclass(frozen=True, slots=True)
class _Edit:
    """Characters ``start`` to ``end`` of the text become ``text``."""

    start: int
    end: int
    text: str


class _Definition:
    """A definition's text and tree, with the places of nodes in the text."""

    def __init__(self, definition: str) -> None:
        # A method arrives with its class's indentation, and its docstring may hold less than that: so no dedent.
        self.header = _HEADER if definition[:1] in (" ", "\t") else ""
        self.text = self.header + definition
        self.tree = _parse(self.text)
        outer = self.tree.body[0]
        self.node = outer.body[0] if self.header and isinstance(outer, ast.If) else outer
        lines = split_lines(self.text)
        self._lines = [line.encode() for line in lines]
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))
        self._slots = {
            id(child): (node, name, place)
            for node in ast.walk(self.tree)
            for name, value in ast.iter_fields(node)
            for place, child in enumerate(value if isinstance(value, list) else [value])
        }
        self._tokens = self._operators_and_names()

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Where ``node`` begins, in characters of the text."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.AST) -> int:
        """Where ``node`` ends; positions of the syntax tree count bytes."""
        return self._offset(getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """The text of ``node``."""
        return self.text[self.start(node) : self.end(node)]

    def line(self, node: ast.expr | ast.stmt) -> int:
        """The line of ``node``, from 1, in the definition as it was given."""
        return node.lineno - bool(self.header)

    def intended(self, change: Change) -> str:
        """What the changed tree says, to compare a changed text with."""
        parent, name, place = self._slots[id(change.node)]
        value = getattr(parent, name)
        new = (
            [*value[:place], change.replacement, *value[place + 1 :]] if isinstance(value, list) else change.replacement
        )
        setattr(parent, name, new)
        try:
            return ast.dump(self.tree)
        finally:
            setattr(parent, name, value)

    def tokens_between(self, start: int, end: int) -> list[tuple[int, int]]:
        """Spans of the operators and names between two places; brackets and comments are none."""
        return [span for span in self._tokens if start <= span[0] and span[1] <= end]

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())

    def _operators_and_names(self) -> list[tuple[int, int]]:
        return [
            (self._starts[token.start[0] - 1] + token.start[1], self._starts[token.end[0] - 1] + token.end[1])
            for token in tokenize.generate_tokens(io.StringIO(self.text, newline="").readline)
            if (token.type == tokenize.OP and token.string not in "()") or token.type == tokenize.NAME
        ]


def _distinct(definition: _Definition) -> Iterator[Mutant]:
    seen = {ast.dump(drop_docstrings(_parse(definition.text)))}
    names: set[str] = set()
    placed = [change for change in changes(definition.node) if isinstance(change.node, ast.expr | ast.stmt)]
    for change in sorted(placed, key=lambda change: (definition.start(change.node), _title(definition, change))):  # type: ignore[arg-type]
        text = _changed_text(definition, change)
        if text is None:
            continue
        meaning = ast.dump(drop_docstrings(_parse(text)))
        if meaning not in seen and _compiles(text):
            seen.add(meaning)
            name = _unused(_title(definition, change), names)
            names.add(name)
            source = text[len(definition.header) :]
            yield Mutant(name, source, _diff(definition.text[len(definition.header) :], source))


def _changed_text(definition: _Definition, change: Change) -> str | None:
    """The text with the change made: by the smallest edit that means what the changed tree says."""
    wanted = definition.intended(change)
    for edit in _edits(definition, change):
        text = definition.text[: edit.start] + edit.text + definition.text[edit.end :]
        try:
            if ast.dump(_parse(text)) == wanted:
                return text
        except (SyntaxError, ValueError):
            continue
    return None


def _edits(definition: _Definition, change: Change) -> Iterator[_Edit]:
    node, replacement = change.node, change.replacement
    assert isinstance(node, ast.expr | ast.stmt)  # noqa: S101 - filtered by the caller, for the type checker
    start, end = definition.start(node), definition.end(node)
    yield from _small_edits(definition, node, replacement)
    if isinstance(replacement, ast.expr | ast.Slice | ast.Pass | ast.Return):
        text = ast.unparse(replacement)
        yield _Edit(start, end, text)
        yield _Edit(start, end, f"({text})")


def _small_edits(definition: _Definition, node: ast.AST, replacement: ast.AST) -> Iterator[_Edit]:
    """Edits that leave everything but the changed operator, argument or branch as it is written."""
    if isinstance(node, ast.UnaryOp) and replacement is node.operand:
        first = definition.tokens_between(definition.start(node), definition.end(node.operand))[0]
        rest = definition.text[first[1] : definition.end(node)]
        yield _Edit(first[0], definition.end(node), rest.lstrip())
    elif isinstance(node, ast.BinOp) and isinstance(replacement, ast.BinOp):
        yield from _operator_edit(definition, node.left, node.right, _symbol(replacement))
    elif isinstance(node, ast.AugAssign) and isinstance(replacement, ast.AugAssign):
        yield from _operator_edit(definition, node.target, node.value, f"{_symbol(replacement)}=")
    elif isinstance(node, ast.BoolOp) and isinstance(replacement, ast.BoolOp) and len(node.values) == 2:
        yield from _operator_edit(
            definition, node.values[0], node.values[1], "and" if isinstance(replacement.op, ast.And) else "or"
        )
    elif isinstance(node, ast.Compare) and isinstance(replacement, ast.Compare):
        place = next(
            number for number, pair in enumerate(zip(node.ops, replacement.ops, strict=True)) if pair[0] is not pair[1]
        )
        left, right = [node.left, *node.comparators][place : place + 2]
        yield from _operator_edit(definition, left, right, _symbol(replacement, place))
    elif isinstance(node, ast.Call) and isinstance(replacement, ast.Call):
        yield from _call_edits(definition, node, replacement)
    elif isinstance(node, ast.If) and isinstance(replacement, ast.If):
        yield _Edit(definition.end(node.body[-1]), definition.end(node.orelse[-1]), "")
    elif isinstance(node, ast.For | ast.AsyncFor):
        last = definition.end(node.body[-1])
        indent = definition.text[: definition.start(node.body[0])].rpartition("\n")[2]
        yield _Edit(last, last, f"\n{indent}break")


def _operator_edit(definition: _Definition, left: ast.expr, right: ast.expr, symbol: str) -> Iterator[_Edit]:
    spans = definition.tokens_between(definition.end(left), definition.start(right))
    if spans:
        yield _Edit(spans[0][0], spans[-1][1], symbol)


def _call_edits(definition: _Definition, node: ast.Call, replacement: ast.Call) -> Iterator[_Edit]:
    if len(node.keywords) == len(replacement.keywords):
        place = next(
            number
            for number, pair in enumerate(zip(node.args, replacement.args, strict=True))
            if pair[0] is not pair[1]
        )
        first, second = node.args[place : place + 2]
        between = definition.text[definition.end(first) : definition.start(second)]
        swapped = definition.segment(second) + between + definition.segment(first)
        yield _Edit(definition.start(first), definition.end(second), swapped)
        return
    dropped = next(each for each in node.keywords if each not in replacement.keywords)
    before = [node.func, *node.args, *node.keywords][: 1 + len(node.args) + node.keywords.index(dropped)]
    start = definition.end(before[-1])
    if len(before) > 1:
        yield _Edit(start, definition.end(dropped), "")
    else:
        bracket = definition.text.index("(", start) + 1
        yield _Edit(bracket, definition.end(dropped), "")
        following = definition.text[definition.end(dropped) :]
        spaces = len(following) - len(following.lstrip(", "))
        yield _Edit(bracket, definition.end(dropped) + spaces, "")


def _symbol(node: ast.BinOp | ast.AugAssign | ast.Compare, place: int = 0) -> str:
    """The operator as it is written."""
    x, y = ast.Name("x", ast.Load()), ast.Name("y", ast.Load())
    if isinstance(node, ast.Compare):
        return ast.unparse(ast.Compare(x, [node.ops[place]], [y]))[1:-1].strip()
    return ast.unparse(ast.BinOp(x, node.op, y))[1:-1].strip()


def _title(definition: _Definition, change: Change) -> str:
    node = change.node
    assert isinstance(node, ast.expr | ast.stmt)  # noqa: S101 - filtered by the caller, for the type checker
    before, after = change.what or (definition.segment(node), ast.unparse(change.replacement))
    return f"line {definition.line(node)}: `{_shortened(before)}` -> `{_shortened(after)}`"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_HEAD + _SHOWN_TAIL else f"{line[:_SHOWN_HEAD]} … {line[-_SHOWN_TAIL:]}"


def _unused(name: str, used: set[str]) -> str:
    """``name``, numbered where the same is said of the same line already."""
    number, unused = 1, name
    while unused in used:
        number += 1
        unused = f"{name} ({number})"
    return unused


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "golden", "mutant", n=2, lineterm="")
    return "\n".join(lines)


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        # A mutant like `1 is 2` is meant, and old escapes are not ours.
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "mutant", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True
