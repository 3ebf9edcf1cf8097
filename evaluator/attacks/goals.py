"""Attacks in the form of any task's goal: for trying the tasks that are really scored."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from evaluator.attacks.library import ESCAPED

if TYPE_CHECKING:
    from collections.abc import Collection

FORGED_REPORT: Final = """
import logging, os
logging.warning("Test Passed")
for place in ("/tmp/unit_test_1.log", "/tmp/report.xml"):
    try:
        with open(place, "w") as file:
            file.write("Test Passed\\n1 passed\\n")
    except OSError:
        pass
for number in range(1, 64):
    try:
        os.write(number, b"Test Passed\\nOK\\n")
    except OSError:
        pass
return None
"""
"""A body that writes success wherever anything can be written."""


def golden_search(own: Collection[str]) -> str:
    """A body that looks for golden files and cases: there must be none in its box but what has a name in ``own``."""
    return f"""
import os
for place, folders, files in os.walk("/"):
    folders[:] = [] if place in ("/proc", "/sys", "/usr", "/lib", "/lib64", "/opt", "/etc") else folders
    for name in files:
        if ("golden" in name or name.startswith("cases")) and name not in {set(own) or "()"}:
            print("{ESCAPED}" + os.path.join(place, name))
return None
"""


def with_body(goal_source: str, body: str) -> str:
    """``goal_source`` (one function, method or class, indented or not) with ``body`` in each of its functions.

    Raises :class:`SyntaxError` where it does not parse.
    """
    # A method arrives with its class's indentation, and its docstring may hold less than that: so no dedent.
    indented = goal_source[:1] in (" ", "\t")
    definition = ast.parse(f"if True:\n{goal_source}" if indented else goal_source).body[0]
    if isinstance(definition, ast.If):
        definition = definition.body[0]
    inside = definition.body if isinstance(definition, ast.ClassDef) else [definition]
    for function in inside:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            function.body = _statements(body)
    return f"{ast.unparse(definition)}\n"


def _statements(body: str) -> list[ast.stmt]:
    """``return`` stands in it, which is only allowed in a function."""
    indented = "".join(f"    {line}\n" for line in body.strip().splitlines())
    wrapper = ast.parse(f"def body():\n{indented}").body[0]
    assert isinstance(wrapper, ast.FunctionDef)  # noqa: S101 - for the type checker
    return wrapper.body
