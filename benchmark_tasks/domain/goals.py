"""Where a task's goal definition lies in a source file. No Django here.

A goal is named as upstream's info.json names it: ``goal_function`` and ``class_name``. An empty class name means a
function at module level, a class name equal to the function's means that the whole class is masked, any other that
the function is a method (``Outer.Inner`` reaches nested classes).
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_CLASS: Final[tuple[type[ast.stmt], ...]] = (ast.ClassDef,)
_FUNCTION: Final[tuple[type[ast.stmt], ...]] = (ast.FunctionDef, ast.AsyncFunctionDef)
_BOM: Final = "\ufeff"
_BOM_BYTES: Final = b"\xef\xbb\xbf"


class GoalKind(StrEnum):
    """What kind of definition is masked."""

    FUNCTION = "function"
    ASYNC_FUNCTION = "async function"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Goal:
    """The masked definition of one task.

    ``class_name`` is empty for a module-level function; equal to ``function`` when the whole class is masked.
    """

    task: str
    file: str
    function: str
    class_name: str = ""


@dataclass(frozen=True, slots=True)
class GoalSpan:
    """The goal definition's place. Lines count from 1 and are inclusive.

    ``start_line`` is the line of ``def`` or ``class``, ``first_decorator_line`` the first line of its decorators, or
    ``start_line`` where it has none. ``indent`` is the white space before it, tabs kept. Whole lines belong to the
    definition: Python's grammar lets nothing else stand on them.
    """

    kind: GoalKind
    name: str
    first_decorator_line: int
    start_line: int
    end_line: int
    indent: str

    @property
    def decorated(self) -> bool:
        """Whether the definition has decorators."""
        return self.first_decorator_line < self.start_line


class GoalNotFoundError(Exception):
    """The file does not define the goal."""


class SourceUnreadableError(Exception):
    """The file is not Python source; ``line`` says where, if that is known."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def parse_source(source: bytes | str) -> ast.Module:
    """The syntax tree of a file, whatever its coding, BOM or line ends. Raises SourceUnreadableError."""
    text = source.removeprefix(_BOM) if isinstance(source, str) else source
    try:
        with warnings.catch_warnings():
            # Research code is full of invalid escapes; a warning about somebody's string is no concern of ours.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise SourceUnreadableError(f"is not Python source: {error.msg}", line=error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceUnreadableError(f"is not Python source: {error or type(error).__name__}") from error


def decode_source(source: bytes) -> str:
    """A Python file's text by its BOM or coding line; line ends kept, BOM removed. Raises SourceUnreadableError."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        return source.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceUnreadableError(f"cannot be decoded: {error}") from error


def source_lines(source: bytes | str) -> list[bytes]:
    """The file's lines with their ends, as Python counts them: only LF, CR LF and CR end a line.

    ``str.splitlines`` would also split at form feeds and Unicode separators, and so miscount.
    """
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    return data.splitlines(keepends=True)


def find_goal(source: bytes | str, function: str, class_name: str = "") -> GoalSpan:
    """The place of the goal; where a name is defined more than once, the last definition (the one that is bound).

    Definitions below ``if``, ``try``, ``with`` and loops count as their surrounding scope's, as they do in Python.
    Raises GoalNotFoundError, or SourceUnreadableError where the file does not parse.
    """
    tree = parse_source(source)
    node = _find(tree, function, class_name)
    lines = source_lines(source)
    first = min([node.lineno, *(_at_sign_line(lines, decorator.lineno) for decorator in node.decorator_list)])
    line = lines[node.lineno - 1].removeprefix(_BOM_BYTES)
    indent = line[: len(line) - len(line.lstrip(b" \t\f"))].decode("ascii")
    return GoalSpan(_kind(node), node.name, first, node.lineno, node.end_lineno or node.lineno, indent)


def goal_source(source: bytes | str, function: str, class_name: str = "") -> str:
    """The goal's own source lines, decorators included, exactly as they stand in the file (indent, line ends).

    Raises GoalNotFoundError or SourceUnreadableError.
    """
    span = find_goal(source, function, class_name)
    text = source.removeprefix(_BOM) if isinstance(source, str) else decode_source(source)
    lines = source_lines(text)[span.first_decorator_line - 1 : span.end_line]
    return b"".join(lines).decode("utf-8", "surrogatepass")


def defines_function(source: bytes, name: str) -> bool:
    """Whether the file defines a plain function called ``name`` at module level. Raises SourceUnreadableError."""
    return any(
        isinstance(node, ast.FunctionDef) and node.name == name for node in _definitions(parse_source(source).body)
    )


def _find(tree: ast.Module, function: str, class_name: str) -> Definition:
    scope: list[ast.stmt] = tree.body
    whole_class = class_name == function
    classes = [] if whole_class else [part for part in class_name.split(".") if part]
    wanted = _CLASS if whole_class else _FUNCTION
    for name in classes:
        holder = _last(scope, name, _CLASS)
        if holder is None:
            raise GoalNotFoundError(f"does not define the class {class_name!r}")
        scope = holder.body
    found = _last(scope, function, wanted)
    if found is not None:
        return found
    what = "class" if whole_class else "method" if classes else "function"
    place = f" in the class {class_name!r}" if classes else " at module level"
    raise GoalNotFoundError(f"does not define the {what} {function!r}{place}{_elsewhere(tree, function)}")


def _last(scope: list[ast.stmt], name: str, wanted: tuple[type[ast.stmt], ...]) -> Definition | None:
    found = None
    for node in _definitions(scope):
        if node.name == name and isinstance(node, wanted):
            found = node
    return found


def _definitions(scope: list[ast.stmt]) -> Iterator[Definition]:
    """The definitions that bind a name in this scope, in source order; not those inside other definitions."""
    for node in scope:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
            continue
        for block in ("body", "handlers", "cases", "orelse", "finalbody"):
            inner = getattr(node, block, [])
            for part in inner if isinstance(inner, list) else []:
                yield from _definitions(part.body if isinstance(part, (ast.ExceptHandler, ast.match_case)) else [part])


def _at_sign_line(lines: list[bytes], line: int) -> int:
    """A decorator's expression may begin below its ``@``, where it stands in brackets."""
    while line > 1 and not lines[line - 1].removeprefix(_BOM_BYTES).lstrip().startswith(b"@"):
        line -= 1
    return line


def _elsewhere(tree: ast.Module, function: str) -> str:
    """A hint for the author where the name is a method of some class in the file."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    owners = sorted({owner.name for owner in classes if _last(owner.body, function, _FUNCTION) is not None})
    return f" (class_name may have to be one of: {', '.join(owners)})" if owners else ""


def _kind(node: Definition) -> GoalKind:
    if isinstance(node, ast.ClassDef):
        return GoalKind.CLASS
    return GoalKind.ASYNC_FUNCTION if isinstance(node, ast.AsyncFunctionDef) else GoalKind.FUNCTION
