"""From the chosen definition and what stands around it to the source of an answer: what is kept, and where."""

from __future__ import annotations

import ast
import io
import token
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.python_source import (
    Definition,
    SourceError,
    first_line_of,
    is_definition,
    same_code,
    with_trailing_comments,
)
from evaluator.generation.code_names import (
    BUILTINS,
    bound_names,
    flat,
    is_future_import,
    is_star_import,
    module_names,
    used_names,
)
from submissions.answers.answer_source import CONSTANT_NODES
from submissions.answers.reindent import reindent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmark_tasks.domain.goals import FoundGoal
    from evaluator.generation.code_cleaning import Code

_STEP: Final = "    "


@dataclass(frozen=True, slots=True)
class Choice:
    """A definition that is taken for the goal's, and the code that it stands in."""

    node: Definition
    code: Code
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """The source of an answer, and what is said of it."""

    source: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A statement beside the goal that it needs."""

    statement: ast.stmt
    code: Code


def placed(choice: Choice, codes: Sequence[Code], masked: FoundGoal, *, name: str, alone: bool) -> Placed:
    """The source of ``choice``, called ``name``, with what it needs and the ``masked`` file does not have.

    What an answer may hold beside the goal stands before it; the rest, or with ``alone`` all of it, goes into its body.
    Raises SourceError.
    """
    node = choice.node
    kept = _needed(choice, codes, masked)
    beside = [] if alone else [item for item in kept if _may_stand_beside(item.statement)]
    inside = [item for item in kept if item not in beside]
    goal = _text(node, choice.code)
    if node.name != name:
        goal = _renamed(goal, node.name, name)
    notes = list(choice.notes)
    if beside:
        notes.append(f"Kept beside it: {_listed(beside)}.")
    if inside and not isinstance(node, ast.ClassDef):
        goal = _with_inside(goal, inside)
        notes.append(f"Moved into its body: {_listed(inside)}.")
    elif inside:
        notes.append(f"Left out, since no answer can carry it: {_listed(inside)}.")
    aside = _set_aside(choice, masked)
    if aside:
        notes.append(f"Left aside, since the file has its own: {', '.join(aside)}.")
    pieces = [_text(item.statement, item.code) for item in beside]
    return Placed(source="\n".join([*pieces, goal] if not pieces else [*pieces, "", goal]), notes=tuple(notes))


def alone_text(choice: Choice, *, name: str) -> str:
    """The definition and nothing else. Raises SourceError."""
    text = _text(choice.node, choice.code)
    return text if choice.node.name == name else _renamed(text, choice.node.name, name)


def _needed(choice: Choice, codes: Sequence[Code], masked: FoundGoal) -> list[_Kept]:
    """The statements that bind what the goal needs, in the order in which they stand; its own code's come first."""
    known = module_names(masked.source.tree.body) | BUILTINS
    others = [code for code in codes if code is not choice.code]
    pool = [_Kept(statement, code) for code in (*others, choice.code) for statement in flat(code.statements)]
    pool = [item for item in pool if item.statement is not choice.node and choice.node not in ast.walk(item.statement)]
    missing = used_names(choice.node) - known - {choice.node.name}
    found: list[_Kept] = []
    resolved: set[str] = set()
    while missing:
        item = next((item for item in reversed(pool) if bound_names(item.statement) & missing), None)
        if item is None:
            break
        found.append(item)
        resolved |= bound_names(item.statement)
        missing = (missing | used_names(item.statement)) - known - resolved
        pool.remove(item)
    if missing:
        found += [item for item in pool if item.code is choice.code and is_star_import(item.statement)]
    found = [item for item in found if not is_future_import(item.statement)]
    return sorted(found, key=lambda item: (item.code is choice.code, item.code.place, item.statement.lineno))


def _may_stand_beside(statement: ast.stmt) -> bool:
    """Whether an answer may hold it at module level (see ``submissions.answers.answer_source``)."""
    if is_definition(statement) or isinstance(statement, ast.Import | ast.ImportFrom):
        return True
    if isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets):
        return all(isinstance(node, CONSTANT_NODES) for node in ast.walk(statement.value))
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.value is None or all(isinstance(node, CONSTANT_NODES) for node in ast.walk(statement.value))
    return False


def _set_aside(choice: Choice, masked: FoundGoal) -> list[str]:
    """The names of other definitions that the code changes: the masked file's own stay."""
    own = {node.name: node for node in masked.source.tree.body if is_definition(node)}
    changed = []
    for statement in flat(choice.code.statements):
        if is_definition(statement) and statement is not choice.node and choice.node not in ast.walk(statement):
            original = own.get(statement.name)
            if original is not None and original is not masked.node and not same_code(original, statement):
                changed.append(statement.name)
    return changed


def _text(statement: ast.stmt, code: Code) -> str:
    """The statement's lines from column 0, ending in a line end. Raises SourceError."""
    lines = code.lines
    first = first_line_of(lines, statement)
    last = with_trailing_comments(lines, statement) if is_definition(statement) else statement.end_lineno or first
    own_line = lines[first - 1][: statement.col_offset].strip() == "" or is_definition(statement)
    if not own_line or _shares_its_end(statement, lines):
        # It shares its line with another: it cannot be cut out by lines.
        return ast.unparse(statement) + "\n"
    return "\n".join(reindent("".join(lines[first - 1 : last]), indent="", unit=_STEP)) + "\n"


def _shares_its_end(statement: ast.stmt, lines: Sequence[str]) -> bool:
    if is_definition(statement) or statement.end_lineno is None or statement.end_col_offset is None:
        return False
    rest = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode("utf-8", "replace").strip()
    return bool(rest) and not rest.startswith("#")


def _with_inside(goal: str, inside: Sequence[_Kept]) -> str:
    """The function with statements at the beginning of its body, after its docstring. Raises SourceError."""
    tree = ast.parse(goal)
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise SourceError("is no function")
    has_docstring = ast.get_docstring(node, clean=False) is not None
    first = node.body[0]
    if first.lineno == node.lineno or (has_docstring and len(node.body) > 1 and node.body[1].lineno == first.lineno):
        goal = ast.unparse(node)
        node = ast.parse(goal).body[0]
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            raise SourceError("is no function")
    lines = goal.rstrip("\n").split("\n")
    after_docstring = has_docstring and len(node.body) > 1
    target = node.body[1] if after_docstring else node.body[0]
    at = len(lines) if has_docstring and not after_docstring else first_line_of(lines, target) - 1
    added = [line for item in inside for line in reindent(_text(item.statement, item.code), indent=_STEP, unit=_STEP)]
    return "\n".join([*lines[:at], *added, *lines[at:]]) + "\n"


def _renamed(text: str, old: str, new: str) -> str:
    """``text`` with the name ``old`` replaced, also where the function calls itself. Raises SourceError."""
    lines = [line + "\n" for line in text.split("\n")]
    try:
        found = [
            item
            for item in tokenize.generate_tokens(io.StringIO(text, newline="\n").readline)
            if item.type == token.NAME and item.string == old
        ]
    except (tokenize.TokenError, SyntaxError) as error:
        raise SourceError(f"is not valid Python: {error.args[0]}") from None
    for item in reversed(found):
        number, start = item.start
        line = lines[number - 1]
        lines[number - 1] = line[:start] + new + line[start + len(old) :]
    return "".join(lines)[:-1]


def _listed(items: Sequence[_Kept]) -> str:
    names = []
    for item in items:
        bound = ", ".join(sorted(bound_names(item.statement)))
        is_import = isinstance(item.statement, ast.Import | ast.ImportFrom)
        names.append(f"the import of {bound}" if is_import else bound)
    return "; ".join(names)
