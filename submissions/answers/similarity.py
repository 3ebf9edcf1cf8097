"""How much of the golden function's code is in an answer: a hint at what a model may have seen, and no verdict.

Both measures are Sørensen-Dice coefficients of multisets, from 0 to 1, of the bodies without docstrings and comments;
they take time in proportion to the code, however strange that is. Defined for readers in docs/judging.md.
"""

from __future__ import annotations

import ast
import tokenize
from collections import Counter
from io import StringIO
from typing import TYPE_CHECKING, Final

from benchmark_tasks.domain.python_source import SourceError, definition_tree, is_definition, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_LAYOUT: Final = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
_DIGITS: Final = 3


def similarity(answer: str, golden: str) -> dict[str, float]:
    """The share of equal parts, 0 to 1: ``tokens`` of runs of three tokens, ``tree`` of the syntax tree's inner nodes.

    A node is equal to one with the same kinds of nodes below it, whatever their names and values. Empty where one of
    the definitions does not parse, or has no body to compare.
    """
    try:
        both = [_parts(answer), _parts(golden)]
    except (SourceError, tokenize.TokenError, SyntaxError):
        return {}
    found = {}
    for measure, first, second in zip(("tokens", "tree"), *both, strict=True):
        if not first or not second:
            return {}
        found[measure] = round(2 * (first & second).total() / (first.total() + second.total()), _DIGITS)
    return found


def _parts(definition: str) -> tuple[Counter[object], Counter[object]]:
    tree, text = definition_tree(definition)
    body = [each for goal in tree.body for each in (goal.body if is_definition(goal) else [goal])]
    # What stands for the body of a definition that had a docstring only stands at no line.
    start = getattr(body[0], "lineno", None) if body else None
    lines = split_lines(text)[start - 1 :] if start else ()
    tokens = [
        token.string
        for token in tokenize.generate_tokens(StringIO("".join(lines)).readline)
        if token.type not in _LAYOUT
    ]
    runs: Counter[object] = Counter(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return runs, Counter(_inner_nodes(ast.Module(body=body, type_ignores=[])))


def _inner_nodes(root: ast.Module) -> Iterator[int]:
    """A number for each node with nodes below it: equal for equal subtrees. Does not recurse: foreign code is deep."""
    numbers: dict[ast.AST, int] = {}
    order: list[ast.AST] = []
    pending = list[ast.AST](root.body)
    while pending:
        node = pending.pop()
        order.append(node)
        pending += _below(node)
    for node in reversed(order):
        below = tuple(numbers[child] for child in _below(node))
        numbers[node] = hash((type(node).__name__, below))
        if below:
            yield numbers[node]


def _below(node: ast.AST) -> list[ast.AST]:
    return [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
