"""Measure how much of the golden function's code is in an answer: a hint that a model may have seen it, not a proof.

Both measures are Sørensen-Dice coefficients of multisets, from 0 to 1, of the bodies without docstrings and comments.
They take linear time for any code. docs/judging.md defines them for readers.
"""

from __future__ import annotations

import ast
import tokenize
from collections import Counter
from copy import copy
from io import StringIO
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.python_source import SourceError, code_of, definition_tree, is_definition, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmark_tasks.domain.goals import FoundGoal

_LAYOUT: Final = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
_DIGITS: Final = 3


def similarity(answer: str, golden: str) -> dict[str, float]:
    """Compare two definitions given as text with :func:`similarity_of`; empty if one does not parse."""
    try:
        (answer_tree, answer_text), (golden_tree, golden_text) = definition_tree(answer), definition_tree(golden)
    except SourceError:
        return {}
    return _compared(
        (answer_tree.body, split_lines(answer_text)),
        (golden_tree.body, split_lines(golden_text)),
    )


def similarity_of(answer: FoundGoal, golden: FoundGoal) -> dict[str, float]:
    """Return the share of equal parts, 0 to 1: ``tokens`` for runs of three tokens, ``tree`` for inner syntax nodes.

    Nodes are equal if the kinds of nodes below them are the same, whatever their names and values. Empty if one
    definition has no body to compare.
    """
    return _compared(*(([goal.node], goal.source.lines[: goal.last_line]) for goal in (answer, golden)))


def _compared(*both: tuple[Sequence[ast.stmt], Sequence[str]]) -> dict[str, float]:
    try:
        answer, golden = (_parts(statements, lines) for statements, lines in both)
    except (tokenize.TokenError, SyntaxError):
        return {}
    found = {}
    for measure, first, second in zip(("tokens", "tree"), answer, golden, strict=True):
        if not first or not second:
            return {}
        found[measure] = round(2 * (first & second).total() / (first.total() + second.total()), _DIGITS)
    return found


def _parts(statements: Sequence[ast.stmt], lines: Sequence[str]) -> tuple[Counter[object], Counter[object]]:
    body = [each for goal in statements for each in (code_of(goal) if is_definition(goal) else [goal])]
    # The placeholder for the body of a docstring-only definition has no line number.
    start = getattr(body[0], "lineno", None) if body else None
    tokens = [
        token.string
        for token in tokenize.generate_tokens(StringIO("".join(lines[start - 1 :] if start else ())).readline)
        if token.type not in _LAYOUT
    ]
    runs: Counter[object] = Counter(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return runs, Counter(_inner_nodes(body))


def _inner_nodes(body: Sequence[ast.stmt]) -> Iterator[int]:
    """Yield a hash of each inner node, equal for equal subtrees. Not recursive, since untrusted code may be deep."""
    numbers: dict[ast.AST, int] = {}
    order: list[tuple[ast.AST, list[ast.AST]]] = []
    pending = list[ast.AST](body)
    while pending:
        node = pending.pop()
        below = _below(node)
        order.append((node, below))
        pending += below
    for node, below in reversed(order):
        known = tuple(numbers[child] for child in below)
        numbers[node] = hash((type(node).__name__, known))
        if known:
            yield numbers[node]


def _below(node: ast.AST) -> list[ast.AST]:
    if is_definition(node):
        # Copy the node, since the tree is compared elsewhere too.
        node, code = copy(node), code_of(node)
        node.body = code
    return [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
