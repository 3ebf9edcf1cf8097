"""Find a task's goal definition (the masked function) in a source file. No Django here.

The importer, which decides whether a task is runnable, and the code that puts an answer into the goal's place both use
:func:`find_goal`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmark_tasks.domain.python_source import (
    Definition,
    Source,
    SourceError,
    first_line_of,
    is_definition,
    parse_source,
    read_source,
    with_trailing_comments,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Goal:
    """The masked definition of one task, named as upstream's info.json names it.

    ``class_name`` is empty for a function at module level, equal to ``function`` when the whole class is masked, else
    the class of a method (``Outer.Inner`` reaches nested classes). ``file`` is relative to the masked repository.
    """

    task: str
    file: str
    function: str
    class_name: str = ""


@dataclass(frozen=True, slots=True)
class FoundGoal:
    """Position of the goal: its definition, the module-level statement around it, and its lines (from 1, inclusive).

    ``first_line`` is the first decorator's, ``def_line`` that of ``def`` or ``class``; ``last_line`` includes comments
    that are indented like the body and follow it. The definition consists of whole lines: Python's grammar allows
    nothing else on them.
    """

    source: Source
    node: Definition
    outermost: ast.stmt
    first_line: int
    def_line: int
    last_line: int

    @property
    def text(self) -> str:
        """The goal's lines exactly as in the file (decorators, indentation and line ends)."""
        return "".join(self.source.lines[self.first_line - 1 : self.last_line])


def find_goal(content: bytes, goal: Goal) -> FoundGoal:
    """Find the goal definition in the file ``content``.

    A function is searched for at module level, a method in its class, in the order in which Python binds them: the
    last one wins, and ``if``, ``try``, ``with`` and loops belong to the scope around them. Property setters and
    deleters are ignored. Upstream's info.json names no class, or the function itself, for some methods and nested
    functions: then the only definition of that name anywhere is taken.

    Raises SourceError if there is none, if there are several under conditions and any of them may be bound, and for a
    file that cannot be read (see :func:`~benchmark_tasks.domain.python_source.read_source`).
    """
    source = read_source(content)
    node = _at_named_place(source.tree, goal) or _only_definition(source.tree, goal)
    if node is None:
        raise SourceError(_missing(source.tree, goal))
    return FoundGoal(
        source=source,
        node=node,
        outermost=next(statement for statement in source.tree.body if node in ast.walk(statement)),
        first_line=first_line_of(source.lines, node),
        def_line=node.lineno,
        last_line=with_trailing_comments(source.lines, node),
    )


def defines_function(content: bytes, name: str) -> bool:
    """Return whether the file defines a plain function called ``name`` at module level. Raises SourceError."""
    definitions = _definitions(parse_source(content).body)
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node, _ in definitions)


def _at_named_place(tree: ast.Module, goal: Goal) -> Definition | None:
    """Find the goal by its class and function names; None if it is not there."""
    if goal.class_name == goal.function:
        return _bound(tree.body, goal.function, classes=True)
    body = tree.body
    for name in goal.class_name.split(".") if goal.class_name else ():
        container = _bound(body, name, classes=True)
        if container is None:
            return None
        body = container.body
    return _bound(body, goal.function, classes=False)


def _bound(body: Sequence[ast.stmt], name: str, *, classes: bool) -> Definition | None:
    """Return the definition that ``name`` is bound to after ``body`` has run, judged by the text alone."""
    candidates = [
        (node, is_certain)
        for node, is_certain in _definitions(body)
        if node.name == name and isinstance(node, ast.ClassDef) == classes and not _is_accessor(node)
    ]
    if not candidates:
        return None
    node, is_certain = candidates[-1]
    if not is_certain and len(candidates) > 1:
        lines = ", ".join(str(candidate.lineno) for candidate, _ in candidates)
        raise SourceError(
            f"defines {name!r} several times under conditions (lines {lines}), so it is not clear which one is meant"
        )
    return node


def _definitions(body: Sequence[ast.stmt]) -> Iterator[tuple[Definition, bool]]:
    """Yield (definition, is certain) for one scope; those under ``if``, ``try``, loops, ``with``, ``match`` are not."""
    pending: list[tuple[ast.AST, bool]] = [(statement, True) for statement in reversed(body)]
    while pending:
        node, is_certain = pending.pop()
        if is_definition(node):
            yield node, is_certain
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            pending.extend((child, False) for child in reversed(list(ast.iter_child_nodes(node))))


def _is_accessor(node: Definition) -> bool:
    """Return whether this is ``@x.setter`` or ``@x.deleter``, which belong to a property but do not define it."""
    return any(
        isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter")
        for decorator in node.decorator_list
    )


def _only_definition(tree: ast.Module, goal: Goal) -> Definition | None:
    """Return the only definition of the goal's name in the file; None if info.json names a class for it."""
    if goal.class_name not in ("", goal.function):
        return None
    everywhere = [node for node in ast.walk(tree) if is_definition(node) and node.name == goal.function]
    found = [node for node in everywhere if not _is_accessor(node)]
    return found[0] if len(found) == 1 else None


def _missing(tree: ast.Module, goal: Goal) -> str:
    """Describe what is missing, with a hint for the author if a class in the file has a method of that name."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    owners = sorted({owner.name for owner in classes if _has_method(owner, goal.function)})
    hint = f" (class_name may have to be one of: {', '.join(owners)})" if owners else ""
    if goal.class_name == goal.function:
        return f"does not define the class {goal.function!r}{hint}"
    if goal.class_name:
        return f"does not define the method {goal.function!r} in the class {goal.class_name!r}{hint}"
    return f"does not define the function {goal.function!r} at module level{hint}"


def _has_method(owner: ast.ClassDef, name: str) -> bool:
    return any(node.name == name and not isinstance(node, ast.ClassDef) for node, _ in _definitions(owner.body))
