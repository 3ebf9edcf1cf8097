"""Runs one of upstream's test files as ``python unit_test/unit_test_1.py`` would, and sees how it went.

The file is compiled from its unchanged text; only, behind each statement that asserts something, a step is added that
counts it. The goal's own lines, where the goal stands in the test file, are left alone: what an answer asserts proves
nothing. Mounted beside ``upstream_child.py``; Python 3.8 or newer, standard library only.
"""

# ruff: noqa: N802 - the names that unittest calls
from __future__ import annotations

import ast
import sys
import types
import unittest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTER = "__count_assertion__"
_UNITTEST_EXIT = getattr(unittest.TestProgram.runTests, "__code__", None)


class Script:
    """A test file, ready to run once. ``span`` holds the goal's first and last line where it stands in this file."""

    def __init__(self, path: str, argument: str, span: tuple[int, int] | None) -> None:
        """Raises SyntaxError or ValueError for text that is no Python."""
        with open(path, "rb") as file:  # noqa: PTH123 - the answer could replace pathlib's methods, but has not run yet
            tree = ast.parse(file.read(), filename=path)
        self.assertions = 0
        self._path = path
        self._argument = argument
        counted = ast.fix_missing_locations(_Counting(span).visit(tree))
        self._code = compile(counted, path, "exec", dont_inherit=True)
        self._own_code = {code for code in _all_code(self._code) if not _inside(code.co_firstlineno, span)}

    def run(self) -> None:
        """Run the file as ``__main__``; whatever it raises comes out."""
        module = types.ModuleType("__main__")
        module.__file__ = self._path
        sys.modules["__main__"] = module
        sys.argv[:] = [self._argument]
        vars(module)[COUNTER] = self._count
        exec(self._code, vars(module))  # noqa: S102 - running this file is what the box is for

    def ended_by(self, error: SystemExit) -> bool:
        """Whether this exit is the test's own: by ``unittest.main()``, or by a line of the test outside the goal."""
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        code = place.tb_frame.f_code if place is not None else None
        return code is not None and (code is _UNITTEST_EXIT or code in self._own_code)

    def _count(self) -> None:
        self.assertions += 1


class RecordingResult(unittest.TextTestResult):
    """Also tells ``send(event, **facts)`` of every test's start and end, at once. Made by :func:`recording_result`."""

    send: Callable[..., None]

    def startTest(self, test: unittest.TestCase) -> None:
        self.send("start", test=_name(test))
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self.send("stop", test=_name(test))

    def addSuccess(self, test: unittest.TestCase) -> None:
        super().addSuccess(test)
        self.send("success", test=_name(test))

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self.send("failure", test=_name(test), error=err[1])

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self.send("error", test=_name(test), error=err[1])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self.send("skip", test=_name(test), declared=_skip_is_declared(test))

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self.send("success", test=_name(test))

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        self.send("failure", test=_name(test), error=AssertionError("it passed, and was expected to fail"))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            self.send("failure" if failed else "error", test=_name(test), error=err[1])


def recording_result(send: Callable[..., None]) -> type[RecordingResult]:
    """A result class for unittest's runner that reports to ``send``."""
    return type("Result", (RecordingResult,), {"send": staticmethod(send)})


class _Counting(ast.NodeTransformer):
    """Adds a counting step behind every statement that asserts, but for the lines of ``span``."""

    def __init__(self, span: tuple[int, int] | None) -> None:
        self._span = span

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.stmt) and _inside(node.lineno, self._span):
            return node
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [made for statement in statements for made in self._counted(statement)])
        return node

    def _counted(self, statement: ast.stmt) -> list[ast.stmt]:
        if not _asserts(statement) or _inside(statement.lineno, self._span):
            return [statement]
        call = ast.Call(func=ast.Name(id=COUNTER, ctx=ast.Load()), args=[], keywords=[])
        return [statement, ast.copy_location(ast.Expr(value=call), statement)]


def _asserts(statement: ast.stmt) -> bool:
    """``assert …``, a call of something named ``assert…``, or a ``with`` of such a call."""
    if isinstance(statement, ast.With):
        return any(_is_assertion(item.context_expr) for item in statement.items)
    return isinstance(statement, ast.Assert) or (isinstance(statement, ast.Expr) and _is_assertion(statement.value))


def _is_assertion(expression: ast.expr) -> bool:
    called = expression.func if isinstance(expression, ast.Call) else None
    name = getattr(called, "attr", None) or getattr(called, "id", "")
    return str(name).lstrip("_").startswith("assert")


def _inside(line: int, span: tuple[int, int] | None) -> bool:
    return span is not None and span[0] <= line <= span[1]


def _all_code(code: types.CodeType) -> set[types.CodeType]:
    found = {code}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _all_code(constant)
    return found


def _name(test: Any) -> str:
    """``TestLoss.test_pairs``; what unittest makes up for a class's own set-up keeps its text."""
    name = str(test.id())
    return name.replace("__main__.", "", 1)


def _skip_is_declared(test: Any) -> bool:
    """Whether the test's author marked it to be skipped; else something raised SkipTest while it ran."""
    method = getattr(test, getattr(test, "_testMethodName", ""), None)
    return bool(getattr(method, "__unittest_skip__", False) or getattr(type(test), "__unittest_skip__", False))
