"""Code without what only people read: comments, docstrings, and other strings that stand alone."""

from __future__ import annotations

import ast
import io
import tokenize

from benchmark_tasks.domain.python_source import SourceError, parse_source, same_code

_CLASS = "class _:\n"


def without_comments(source: str) -> str:
    """``source`` as code that does the same, freshly written out; as it is where it holds no such text.

    It may be a whole file or a definition that is indented as in its class. What does not parse comes back as it is:
    a judge then sees the same text twice.
    """
    try:
        tree = _tree(source)
        strings = _drop_lone_strings(tree)
        if not strings and not _has_comment(source):
            return source
        text = f"{ast.unparse(tree)}\n"
        return text if same_code(parse_source(text), tree) else source
    except (SourceError, ValueError, RecursionError, tokenize.TokenError, SyntaxError):
        return source


def _tree(source: str) -> ast.Module:
    # A method keeps its class's indentation: a string in it may hold less, so it cannot be dedented.
    if source[:1] not in (" ", "\t"):
        return parse_source(source)
    tree = parse_source(f"{_CLASS}{source}")
    if len(tree.body) == 1 and isinstance(tree.body[0], ast.ClassDef):
        tree.body = tree.body[0].body
    return tree


def _drop_lone_strings(tree: ast.Module) -> int:
    """Take every statement that is only a string out of ``tree``; say how many there were."""
    dropped = 0
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                kept = [statement for statement in block if not _is_lone_string(statement)]
                dropped += len(block) - len(kept)
                empty = not kept and block and not isinstance(node, ast.Module)
                setattr(node, name, [ast.Pass()] if empty else kept)
    return dropped


def _is_lone_string(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _has_comment(source: str) -> bool:
    header = _CLASS if source[:1] in (" ", "\t") else ""
    tokens = tokenize.generate_tokens(io.StringIO(f"{header}{source}", newline="").readline)
    return any(token.type == tokenize.COMMENT for token in tokens)
