"""Reading Python files that other people wrote, without running them: text, lines, syntax tree. No Django here."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Sequence

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_TAB: Final = 8

MAX_DEFINITIONS: Final = 2_000
"""Functions and classes that one file may define: Python's compiler takes quadratic time for them."""
MAX_NODES: Final = 200_000
"""Nodes that the syntax tree of one file may have; a megabyte of ordinary code has half as many."""


class SourceError(Exception):
    """The text cannot be used; the message continues a sentence that begins with the file's name.

    ``line`` starts at 1 and is None where it is not known.
    """

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    def about(self, subject: str) -> str:
        """The whole sentence: ``a.py, line 3, is not valid Python: invalid syntax.``"""
        return f"{subject}{f', line {self.line},' if self.line else ''} {self}."


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file in UTF-8: ``mark`` is its byte order mark, if it has one, and ``text`` the rest.

    ``lines`` are the lines as Python counts them (``\\n``, ``\\r\\n`` and ``\\r`` end a line), ends kept.
    """

    mark: bytes
    text: str
    lines: tuple[str, ...]
    tree: ast.Module

    @property
    def content(self) -> bytes:
        """The file's bytes."""
        return self.mark + self.text.encode()


def read_source(content: bytes) -> Source:
    """A file into which code can be put: UTF-8, since answers are kept so, and accepted by the compiler.

    Raises SourceError.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        text = content.removeprefix(mark).decode("utf-8")
    except (SyntaxError, UnicodeDecodeError) as error:
        raise SourceError(f"is not readable as UTF-8 text ({error}); convert it") from None
    if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        raise SourceError(f"declares the encoding {encoding}; use UTF-8, or remove that line")
    tree = parse_source(content)
    _compile(tree)
    return Source(mark=mark, text=text, lines=split_lines(text), tree=tree)


def parse_source(content: bytes | str) -> ast.Module:
    """The syntax tree of a file in any encoding that Python knows, within the limits above. Raises SourceError."""
    if isinstance(content, bytes):
        _decode(content)
    with warnings.catch_warnings():
        # Whatever this interpreter warns of (old escapes, `is` with a literal) is no fault of the file's.
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(content)
        except SyntaxError as error:
            raise SourceError(f"is not valid Python: {error.msg}", line=error.lineno) from None
        except ValueError as error:
            raise SourceError(f"is not valid Python: {error}") from None
        except (RecursionError, MemoryError):
            raise SourceError("is nested too deeply") from None
    _require_bounded(tree)
    return tree


def _require_bounded(tree: ast.Module) -> None:
    definitions = 0
    for number, node in enumerate(ast.walk(tree)):
        definitions += is_definition(node)
        if definitions > MAX_DEFINITIONS:
            raise SourceError(
                f"defines more than {MAX_DEFINITIONS:,} functions and classes, which is the limit of a file"
            )
        if number >= MAX_NODES:
            raise SourceError(f"has more than {MAX_NODES:,} syntax nodes, which is the limit of a file")


def _decode(content: bytes) -> None:
    """Find what Python would find when it runs the file: its parser passes over foreign bytes in comments."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceError(f"is not valid Python: it cannot be read as text ({error}); save it as UTF-8") from None


def _compile(tree: ast.Module) -> None:
    """Find what only the compiler refuses (``break`` outside a loop, an argument given twice)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(tree, "source", "exec", dont_inherit=True)
        except SyntaxError as error:
            raise SourceError(f"does not compile: {error.msg}", line=error.lineno) from None
        except ValueError as error:
            raise SourceError(f"does not compile: {error}") from None
        except (RecursionError, MemoryError):
            raise SourceError("is nested too deeply") from None


def same_code(
    first: ast.AST, second: ast.AST, *, docstrings: bool = True, but: tuple[ast.AST, ast.AST] | None = None
) -> bool:
    """Whether two syntax trees are equal, whatever their positions in the text.

    ``docstrings`` says whether docstrings count. The nodes ``but``, one of each tree, count as the same. Neither tree
    is changed. ``ast.dump`` would recurse, and write numbers out: neither ends well with foreign code.
    """
    pending: list[tuple[object, object]] = [(first, second)]
    while pending:
        left, right = pending.pop()
        if but is not None and (left is but[0] or right is but[1]):
            if left is not but[0] or right is not but[1]:
                return False
        elif type(left) is not type(right):
            return False
        elif isinstance(left, ast.AST) and isinstance(right, ast.AST):
            pending.extend((_field(left, name, docstrings), _field(right, name, docstrings)) for name in left._fields)
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pending.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


def _field(node: ast.AST, name: str, docstrings: bool) -> object:
    if name == "body" and not docstrings and is_definition(node):
        return code_of(node)
    return getattr(node, name, None)


def code_of(node: Definition) -> list[ast.stmt]:
    """The statements of a definition without its docstring; ``pass`` where there is nothing else."""
    return node.body if ast.get_docstring(node, clean=False) is None else node.body[1:] or [ast.Pass()]


def same_definition(one: str, other: str) -> bool:
    """Whether two definitions have the same syntax tree but for docstrings; false where one of them does not parse."""
    try:
        return same_code(definition_tree(one)[0], definition_tree(other)[0], docstrings=False)
    except SourceError:
        return False


def definition_tree(definition: str) -> tuple[ast.Module, str]:
    """The syntax tree of a definition, and the text in which its lines are numbered.

    Raises :class:`SourceError`.
    """
    # A method keeps its class's indentation: a string in it may hold less, so it cannot be dedented.
    indented = definition[:1] in (" ", "\t")
    text = f"class _:\n{definition}" if indented else definition
    tree = parse_source(text)
    if indented and len(tree.body) == 1 and isinstance(tree.body[0], ast.ClassDef):
        tree.body = tree.body[0].body
    return tree, text


def without_docstrings(tree: ast.Module) -> ast.Module:
    """``tree``, changed in place, without the docstrings of its functions and classes."""
    for node in ast.walk(tree):
        if is_definition(node):
            node.body = code_of(node)
    return tree


def is_definition(node: ast.AST) -> TypeGuard[Definition]:
    """Whether ``node`` is a function or class definition."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of ``text`` as Python counts them, ends kept (``str.splitlines`` would split at form feeds too)."""
    return tuple(_LINE.findall(text))


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
    # A decorator's expression may stand below its "@", in brackets or when a backslash joins the lines.
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
