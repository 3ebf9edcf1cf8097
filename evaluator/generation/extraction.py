"""From a model's words to the source of the goal's definition: what any reader would take, and what was taken.

Nothing here runs the code. The result is what :func:`submissions.answers.splice.splice` takes, which was tried on it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.goals import find_goal
from benchmark_tasks.domain.python_source import (
    Definition,
    SourceError,
    is_definition,
    parse_source,
    same_code,
    without_docstrings,
)
from evaluator.generation.code_blocks import Pieces, pieces_of
from evaluator.generation.code_cleaning import Code, Parser, TooInvolvedError, mended
from evaluator.generation.code_names import flat, is_stub, signature
from evaluator.generation.diff_answers import DiffError, added, patched
from evaluator.generation.placing import Choice, alone_text, placed
from submissions.answers.splice import splice
from submissions.answers.types import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmark_tasks.domain.goals import FoundGoal, Goal

MAX_TEXT: Final = 400_000
_MOST_CHOICES: Final = 12
_ELISION = re.compile(r"^[ \t]*#[ \t]*(?:\.\.\.|…)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Extracted:
    """The source of an answer (as ``answer.py`` of a bundle), and in words what it was taken from."""

    source: str
    note: str


class NoAnswerError(Exception):
    """There is no code for the goal in the text. ``note`` says what there is instead, for the submitter."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is looked for: the goal, and where it is in the masked file."""

    goal: Goal
    masked: FoundGoal
    content: bytes
    alone: bool


def extract(text: str, *, goal: Goal, masked_file: bytes, alone: bool = False) -> Extracted:
    """The goal's definition from what a model wrote. ``masked_file`` is the goal's file as the model was given it.

    Of several blocks the last one that defines the goal is taken, unless it only sketches it. What the definition needs
    and the file does not have comes along; with ``alone`` (where the goal's file is the unit test itself) it goes into
    the function's body.

    Raises NoAnswerError, and GoalNotFoundError or SourceError for a masked file without the goal.
    """
    asked = _Asked(goal=goal, masked=find_goal(masked_file, goal), content=masked_file, alone=alone)
    text = _plain(text)
    if not text.strip():
        raise NoAnswerError("The answer is empty.")
    if len(text) > MAX_TEXT:
        raise NoAnswerError(f"The answer is longer than {MAX_TEXT} characters.")
    try:
        return _taken(text, asked)
    except (TooInvolvedError, RecursionError, MemoryError):
        raise NoAnswerError("The answer is too involved to find the code in it.") from None


def _plain(text: str) -> str:
    text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").replace("\r\n", "\n").replace("\r", "\n")
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _taken(text: str, asked: _Asked) -> Extracted:
    parser = Parser()
    pieces = pieces_of(text, parser)
    codes = [*pieces.codes, *_from_diffs(pieces, asked, parser)]
    reason = ""
    stub: Extracted | None = None
    for number, choice in enumerate(_choices(codes, pieces, asked, parser)):
        if number >= _MOST_CHOICES:
            break
        try:
            taken = _source_of(choice, codes, asked)
        except (AnswerError, SourceError) as error:
            reason = reason or str(error)
            continue
        if _is_sketch(choice, asked):
            stub = stub or taken
            continue
        return taken
    if stub is not None and not _is_unchanged(stub, asked):
        return replace(stub, note=f"{stub.note} It is only a sketch.")
    if stub is not None:
        raise NoAnswerError(f"The code leaves {_named(asked.goal)} as it was masked.")
    if reason:
        raise NoAnswerError(f"The code for {_named(asked.goal)} cannot be used: {reason}")
    if pieces.loose:
        raise NoAnswerError(f"No block of code that is valid Python defines {_named(asked.goal)}.")
    raise NoAnswerError(f"Nothing in the answer defines {_named(asked.goal)}.")


def _choices(codes: Sequence[Code], pieces: Pieces, asked: _Asked, parser: Parser) -> Iterator[Choice]:
    """Definitions that may be meant, the likeliest first."""
    goal = asked.goal
    defining = [code for code in codes if _goals_in(code, asked)]
    for code in reversed(defining):
        nodes = _goals_in(code, asked)
        notes = [_where(code, pieces), *code.notes]
        if len(defining) > 1 and code is defining[-1]:
            notes.append(f"It is the last of {len(defining)} pieces that define {goal.function}.")
        elif len(defining) > 1:
            notes.append("A later piece only sketches it.")
        if len(nodes) > 1:
            notes.append(f"{goal.function} is defined {len(nodes)} times there; the last one was taken.")
        yield from (Choice(node=node, code=code, notes=tuple(notes)) for node in reversed(nodes))
    if not defining:
        yield from _by_signature(codes, pieces, asked)
        yield from _bare_bodies(codes, pieces, asked, parser)


def _goals_in(code: Code, asked: _Asked) -> list[Definition]:
    """Definitions of the goal's name and kind: at module level, in its class, else wherever there is only one."""
    wants_class = isinstance(asked.masked.node, ast.ClassDef)

    def fits(node: ast.AST) -> bool:
        return (
            is_definition(node) and node.name == asked.goal.function and isinstance(node, ast.ClassDef) == wants_class
        )

    statements = list(flat(code.statements))
    top = [node for node in statements if is_definition(node) and fits(node)]
    class_name = asked.goal.class_name.rpartition(".")[2]
    classes = [node for node in statements if isinstance(node, ast.ClassDef)]
    within = {node.name: [item for item in node.body if is_definition(item) and fits(item)] for node in classes}
    own = within.get(class_name, [])
    if asked.goal.class_name not in ("", asked.goal.function) and own:
        return own
    others = [item for name, items in within.items() for item in items if name != class_name]
    anywhere = [node for statement in statements for node in ast.walk(statement) if is_definition(node) and fits(node)]
    return top or own or others or anywhere[-1:]


def _by_signature(codes: Sequence[Code], pieces: Pieces, asked: _Asked) -> Iterator[Choice]:
    """The only function with the goal's parameters, where nothing has its name."""
    wanted = signature(asked.masked.node)
    if wanted is None:
        return
    for code in reversed(codes):
        nodes = [node for statement in code.statements for node in ast.walk(statement)]
        same = [node for node in nodes if is_definition(node) and signature(node) == wanted and not is_stub(node)]
        if len(same) == 1:
            note = f"It is called {same[0].name} there; it is the only function with the goal's parameters."
            yield Choice(node=same[0], code=code, notes=(_where(code, pieces), *code.notes, note))


def _bare_bodies(codes: Sequence[Code], pieces: Pieces, asked: _Asked, parser: Parser) -> Iterator[Choice]:
    """A body without its ``def``: code that returns something outside of any function."""
    node = asked.masked.node
    if isinstance(node, ast.ClassDef):
        return
    lines = asked.masked.source.lines
    header = "".join(lines[node.lineno - 1 : node.body[0].lineno - 1])
    if not header.strip():
        return
    # Decorators stay the masked file's own unless an answer brings some.
    head = mended(header + " " * 80 + "pass", parser)
    if head is None:
        return
    header = "\n".join(line for line in head.text.split("\n") if line.strip() != "pass").strip("\n")
    for code in reversed(codes):
        found = [part for statement in code.statements for part in _own_parts(statement)]
        if any(isinstance(part, ast.Return) for part in found):
            body = "\n".join("    " + line if line.strip() else "" for line in code.text.split("\n"))
            whole = parser.code(f"{header}\n{body}")
            if whole is not None and is_definition(whole.statements[0]):
                note = "It is a body only; the signature is the masked file's."
                yield Choice(node=whole.statements[0], code=whole, notes=(_where(code, pieces), *code.notes, note))


def _own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statement and what is in it, but for what is inside other definitions."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if not is_definition(node):
            yield node
            pending.extend(ast.iter_child_nodes(node))


def _from_diffs(pieces: Pieces, asked: _Asked, parser: Parser) -> Iterator[Code]:
    original = _plain(asked.masked.source.text)
    for diff in pieces.diffs:
        try:
            result, others = patched(diff, asked.goal.file, original)
            code = parser.code(result)
        except DiffError:
            code, others = None, ()
        if code is not None:
            aside = f"Its changes of other files were left aside: {', '.join(others)[:300]}."
            yield replace(code, notes=(aside,) if others else (), place=-1)
            continue
        code = mended(added(diff, asked.goal.file), parser)
        if code is not None:
            note = "It does not fit the file; the lines that it adds were taken."
            yield replace(code, notes=(note,), place=-1)


def _source_of(choice: Choice, codes: Sequence[Code], asked: _Asked) -> Extracted:
    """The source that was tried in the masked file. Raises AnswerError and SourceError."""
    name = asked.goal.function
    result = placed(choice, codes, asked.masked, name=name, alone=asked.alone)
    try:
        splice(asked.content, asked.goal, result.source.encode())
    except AnswerError:
        bare = alone_text(choice, name=name)
        if bare == result.source:
            raise
        splice(asked.content, asked.goal, bare.encode())
        notes = (*choice.notes, "What stands around it cannot be carried and was left out.")
        return Extracted(source=bare, note=" ".join(notes))
    return Extracted(source=result.source, note=" ".join(result.notes))


def _is_sketch(choice: Choice, asked: _Asked) -> bool:
    """Whether it does nothing, is the masked definition, or says that something belongs where it has only dots."""
    if is_stub(choice.node):
        return True
    first, last = choice.node.lineno, choice.node.end_lineno or choice.node.lineno
    if _ELISION.search("".join(choice.code.lines[first - 1 : last])):
        return True
    return _is_masked(choice, asked)


def _is_unchanged(taken: Extracted, asked: _Asked) -> bool:
    found = find_goal(splice(asked.content, asked.goal, taken.source.encode()), asked.goal)
    choice = Choice(node=found.node, code=Code(text=_plain(found.source.text), statements=()))
    return is_stub(found.node) or _is_masked(choice, asked)


def _is_masked(choice: Choice, asked: _Asked) -> bool:
    """Whether the choice is the masked definition, docstrings and decorators aside (an answer need not repeat them)."""
    masked = Choice(node=asked.masked.node, code=Code(text=_plain(asked.masked.source.text), statements=()))
    name = asked.goal.function
    first, second = (without_docstrings(parse_source(alone_text(each, name=name))) for each in (choice, masked))
    for tree in (first, second):
        for node in tree.body:
            if is_definition(node):
                node.decorator_list = []
    return same_code(first, second)


def _where(code: Code, pieces: Pieces) -> str:
    if code.place < 0:
        return "Taken from a diff."
    if code.place == 0:
        return "Taken from text without a fence." if not pieces.fences else "Taken from outside the fenced blocks."
    if pieces.fences == 1:
        return "Taken from the fenced block."
    return f"Taken from block {code.place} of {pieces.fences}."


def _named(goal: Goal) -> str:
    if goal.class_name and goal.class_name != goal.function:
        return f"{goal.class_name}.{goal.function}"
    return goal.function
