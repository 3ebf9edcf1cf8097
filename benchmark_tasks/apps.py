"""Register the app ``benchmark_tasks`` with Django."""

from __future__ import annotations

import ast
from functools import wraps
from threading import RLock

from django.apps import AppConfig


class BenchmarkTasksConfig(AppConfig):
    """See docs/architecture.md."""

    name = "benchmark_tasks"

    def ready(self) -> None:
        """Let threads parse Python one at a time."""
        parse_one_at_a_time()


def parse_one_at_a_time() -> None:
    """Put a lock around ``ast.parse``, which threads of web server and audits call on the same files.

    CPython counts the depth of the syntax trees that it makes for all threads together. If another thread parses in the
    middle, it can raise ``SystemError: AST constructor recursion depth mismatch`` (python/cpython#106905 for 3.11).
    """
    if hasattr(ast.parse, "__wrapped__"):
        return
    lock, parse = RLock(), ast.parse

    @wraps(parse)
    def parse_alone(*arguments: object, **options: object) -> ast.AST:
        with lock:
            return parse(*arguments, **options)  # type: ignore[call-overload,no-any-return]

    ast.parse = parse_alone  # type: ignore[assignment]
