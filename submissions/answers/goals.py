"""Finding the goal definition of a task in a Python source file, without running anything."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from submissions.answers.types import Goal

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_UTF8_MARK = b"\xef\xbb\xbf"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_TAB = 8


class SourceError(ValueError):
    """The text is not Python source that can be read; ``line`` starts at 1 where known."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class GoalNotFoundError(AnswerError):
    """The goal definition is not in the file, or it cannot be told which one it is."""


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file: its parts such that ``mark + text.encode(encoding)`` are exactly its bytes.

    ``lines`` are the lines as Python counts them (``\\n``, ``\\r\\n`` and ``\\r`` end a line), ends kept.
    """

    mark: bytes
    text: str
    encoding: str
    lines: tuple[str, ...]
    tree: ast.Module


@dataclass(frozen=True, slots=True)
class FoundGoal:
    """Where the goal is: its definition, the module-level statement around it, and its lines (from 1, inclusive).

    ``first_line`` is the first decorator's, ``def_line`` that of ``def`` or ``class``; ``last_line`` includes comments
    that are indented like the body and follow it.
    """

    node: Definition
    outermost: ast.stmt
    first_line: int
    def_line: int
    last_line: int


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of ``text`` as Python counts them, ends kept."""
    return tuple(_LINE.findall(text))


def parse_python(text: str | bytes) -> ast.Module:
    """The syntax tree of ``text``. Raises SourceError, with the line where it is known."""
    with warnings.catch_warnings():
        # Whatever this interpreter warns of (old escapes, `is` with a literal) is no fault of the file's.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except SyntaxError as error:
            raise SourceError(f"not valid Python: {error.msg}", line=error.lineno) from None
        except ValueError as error:
            raise SourceError(f"not valid Python: {error}") from None
        except (RecursionError, MemoryError):
            raise SourceError("not readable: nested too deeply") from None


def read_source(content: bytes) -> Source:
    """Decode and parse a Python file as the interpreter would. Raises SourceError."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        mark = _UTF8_MARK if content.startswith(_UTF8_MARK) else b""
        encoding = "utf-8" if mark else encoding
        text = content[len(mark) :].decode(encoding)
        unchanged = text.encode(encoding) == content[len(mark) :]
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise SourceError(f"not readable as text: {error}") from None
    if not unchanged:
        raise SourceError(f"its encoding ({encoding}) cannot be written back unchanged; use UTF-8")
    return Source(mark=mark, text=text, encoding=encoding, lines=split_lines(text), tree=parse_python(content))


def find_goal(source: Source, goal: Goal) -> FoundGoal:
    """The goal definition in ``source``.

    A function is looked for at module level, a method in its class, in the order in which Python would bind them: the
    last one wins. Property setters and deleters are passed over. Where upstream's info.json names no class but the
    function is a method or nested, the only definition of that name anywhere is taken.

    Raises GoalNotFoundError when there is none, or several under ``if``/``try`` of which any may be bound.
    """
    try:
        node = _in_its_place(source.tree, goal)
    except RecursionError:
        raise GoalNotFoundError(f"{goal.file} is nested too deeply to be read.", file=goal.file) from None
    if node is None:
        named_class = goal.class_name not in ("", goal.function)
        everywhere = [node for node in ast.walk(source.tree) if is_definition(node) and node.name == goal.function]
        if named_class or len(everywhere) != 1:
            what = f"{goal.class_name}.{goal.function}" if named_class else goal.function
            raise GoalNotFoundError(f"The definition of {what!r} is not found in {goal.file}.", file=goal.file)
        node = everywhere[0]
    outermost = next(statement for statement in source.tree.body if _holds(statement, node))
    def_line = node.lineno
    first_line = first_line_of(source.lines, node)
    last_line = with_trailing_comments(source.lines, node)
    return FoundGoal(node=node, outermost=outermost, first_line=first_line, def_line=def_line, last_line=last_line)


def goal_source(content: bytes, goal: Goal) -> tuple[str, int, int]:
    """The goal's source text in the file ``content``, decorators included, and its first and last line (from 1).

    Raises GoalNotFoundError; also when the file cannot be read as Python.
    """
    try:
        source = read_source(content)
    except SourceError as error:
        raise GoalNotFoundError(f"{goal.file} is {error}", file=goal.file, line=error.line) from None
    found = find_goal(source, goal)
    return "".join(source.lines[found.first_line - 1 : found.last_line]), found.first_line, found.last_line


def is_definition(node: ast.AST) -> TypeGuard[Definition]:
    """Whether ``node`` is a function or class definition."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _in_its_place(tree: ast.Module, goal: Goal) -> Definition | None:
    """The goal where its class and function names say that it is, or None."""
    if goal.class_name == goal.function:
        return _bound(tree.body, goal.function, goal, classes=True)
    body = tree.body
    for name in goal.class_name.split(".") if goal.class_name else ():
        container = _bound(body, name, goal, classes=True)
        if container is None:
            return None
        body = container.body
    return _bound(body, goal.function, goal, classes=False)


def _bound(body: Sequence[ast.stmt], name: str, goal: Goal, *, classes: bool) -> Definition | None:
    """The definition that ``name`` is bound to after ``body`` has run, as far as the text alone tells."""
    candidates = [
        (node, is_certain)
        for node, is_certain in _definitions(body, is_certain=True)
        if node.name == name and isinstance(node, ast.ClassDef) == classes and not _is_accessor(node)
    ]
    if not candidates:
        return None
    node, is_certain = candidates[-1]
    if not is_certain and len(candidates) > 1:
        lines = ", ".join(str(candidate.lineno) for candidate, _ in candidates)
        raise GoalNotFoundError(
            f"{name!r} is defined several times under conditions in {goal.file} (lines {lines}); "
            "it cannot be told which one is the goal.",
            file=goal.file,
            line=node.lineno,
        )
    return node


def _definitions(body: Sequence[ast.stmt], *, is_certain: bool) -> Iterator[tuple[Definition, bool]]:
    """Definitions in one scope, in order; not certain are those under ``if``, ``try``, loops, ``with``, ``match``."""
    for statement in body:
        if is_definition(statement):
            yield statement, is_certain
            continue
        for _, value in ast.iter_fields(statement):
            if isinstance(value, list):
                yield from _definitions(_nested_statements(value), is_certain=False)


def _nested_statements(items: Sequence[object]) -> list[ast.stmt]:
    nested: list[ast.stmt] = []
    for item in items:
        if isinstance(item, ast.stmt):
            nested.append(item)
        elif isinstance(item, ast.ExceptHandler | ast.match_case):
            nested.extend(item.body)
    return nested


def _is_accessor(node: Definition) -> bool:
    """Whether this is ``@x.setter`` or ``@x.deleter``, which go with a property but are not it."""
    return any(
        isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter")
        for decorator in node.decorator_list
    )


def _holds(statement: ast.stmt, node: Definition) -> bool:
    return any(inner is node for inner in ast.walk(statement))


def column(line: str) -> int:
    """The column at which a line's code begins, counted as Python does (a tab goes to the next multiple of 8)."""
    position = 0
    for character in line:
        if character == " ":
            position += 1
        elif character == "\t":
            position += _TAB - position % _TAB
        elif character == "\f":
            position = 0
        else:
            break
    return position


def first_line_of(lines: Sequence[str], statement: ast.stmt) -> int:
    """The line (from 1) where ``statement`` begins, its decorators included."""
    decorators = statement.decorator_list if is_definition(statement) else []
    first_line = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    # A decorator's expression may stand below its "@" when a backslash joins the lines.
    while decorators and first_line > 1 and not lines[first_line - 1].lstrip().startswith("@"):
        first_line -= 1
    return first_line


def with_trailing_comments(lines: Sequence[str], node: Definition) -> int:
    """The last line of the definition, including comments below it that are indented deeper than its ``def``.

    A masked function often ends in such a comment (``# TODO``), which the syntax tree does not know.
    """
    last_line = node.end_lineno or node.lineno
    outer = column(lines[node.lineno - 1])
    for number in range(last_line + 1, len(lines) + 1):
        stripped = lines[number - 1].strip()
        if stripped.startswith("#") and column(lines[number - 1]) > outer:
            last_line = number
        elif stripped:
            break
    return last_line
