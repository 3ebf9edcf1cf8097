"""Read untrusted Python files without running them: text, lines, syntax tree. No Django here."""

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
"""Most functions and classes in one file: Python's compiler takes quadratic time for them."""
MAX_NODES: Final = 200_000
"""Most nodes in the syntax tree of one file; a megabyte of ordinary code has half as many."""


class SourceError(Exception):
    """Raised for a text that cannot be used. The message continues a sentence that begins with the file's name.

    ``line`` starts at 1 and is None if it is not known.
    """

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    def about(self, subject: str) -> str:
        """Return the whole sentence: ``a.py, line 3, is not valid Python: invalid syntax.``"""
        return f"{subject}{f', line {self.line},' if self.line else ''} {self}."


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file in UTF-8: ``mark`` is its byte order mark, if it has one, and ``text`` the rest.

    ``lines`` are the lines as Python counts them (``\\n``, ``\\r\\n`` and ``\\r`` end a line), with their ends.
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
    """Read a file into which an answer can be put: UTF-8, as answers are stored, and accepted by the compiler.

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
    """Parse a file in any encoding that Python knows, within the limits above. Raises SourceError."""
    if isinstance(content, bytes):
        _decode(content)
    with warnings.catch_warnings():
        # Warnings of this interpreter (old escapes, `is` with a literal) are not errors of the file.
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
    """Raise the decoding error that Python would raise when it runs the file; its parser ignores bytes in comments."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceError(f"is not valid Python: it cannot be read as text ({error}); save it as UTF-8") from None


def _compile(tree: ast.Module) -> None:
    """Raise the errors that only the compiler finds (``break`` outside a loop, an argument given twice)."""
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
    """Compare two syntax trees, ignoring positions in the text.

    Docstrings count unless ``docstrings`` is false. The nodes ``but``, one of each tree, count as the same. Neither
    tree is changed. ``ast.dump`` is not used: it recurses and writes out numbers, so untrusted code can exhaust it.
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
    """Return the statements of a definition without its docstring; ``pass`` if there is nothing else."""
    return node.body if ast.get_docstring(node, clean=False) is None else node.body[1:] or [ast.Pass()]


def same_definition(one: str, other: str) -> bool:
    """Compare two definitions by their syntax trees without docstrings; false if one of them does not parse."""
    try:
        return same_code(definition_tree(one)[0], definition_tree(other)[0], docstrings=False)
    except SourceError:
        return False


def definition_tree(definition: str) -> tuple[ast.Module, str]:
    """Return the syntax tree of a definition, and the text that its line numbers refer to.

    Raises :class:`SourceError`.
    """
    # A method keeps its class's indentation: a string in it may have less, so it cannot be dedented.
    indented = definition[:1] in (" ", "\t")
    text = f"class _:\n{definition}" if indented else definition
    tree = parse_source(text)
    if indented and len(tree.body) == 1 and isinstance(tree.body[0], ast.ClassDef):
        tree.body = tree.body[0].body
    return tree, text


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove the docstrings of functions and classes from ``tree``, in place, and return it."""
    for node in ast.walk(tree):
        if is_definition(node):
            node.body = code_of(node)
    return tree


def is_definition(node: ast.AST) -> TypeGuard[Definition]:
    """Return whether ``node`` is a function or class definition."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def split_lines(text: str) -> tuple[str, ...]:
    """Split ``text`` into lines as Python counts them, ends included (``str.splitlines`` also splits at form feeds)."""
    return tuple(_LINE.findall(text))


def column(line: str) -> int:
    """Return the column at which a line's code begins, counted as Python does (tabs go to the next multiple of 8)."""
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
    """Return the line (from 1) where ``statement`` begins, including its decorators."""
    decorators = statement.decorator_list if is_definition(statement) else []
    first_line = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    # A decorator's expression may be below its "@", in brackets or when a backslash joins the lines.
    while decorators and first_line > 1 and not lines[first_line - 1].lstrip().startswith("@"):
        first_line -= 1
    return first_line


def with_trailing_comments(lines: Sequence[str], node: Definition) -> int:
    """Return the definition's last line, including comments below it that are indented deeper than its ``def``.

    A masked function often ends in such a comment (``# TODO``), which is not part of the syntax tree.
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
