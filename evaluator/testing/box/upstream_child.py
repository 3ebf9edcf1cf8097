"""Run one of upstream's test files, in a process of its own. Started by ``upstream_driver.py``, which outlives it.

The file runs as if by ``python unit_test/unit_test_1.py``. It is compiled from its unchanged text, with two additions:
a step that counts assertions after each statement that asserts something, and a step that has each of its classes and
functions watched. The goal's own lines, if the goal is in the test file, are left alone: an answer's assertions prove
nothing.

``upstream_child.py JOB`` with a JSON object: ``repository`` and ``unit_test`` (absolute paths), ``argument`` (the test
as upstream's command names it), ``span`` (the goal's lines in the test file, or null), ``path`` (folders added last to
the search path) and ``events`` (the descriptor that receives one JSON object per line).

Events are written at once, so that nothing can withdraw them. Python 3.8 or newer, standard library only.
"""

# ruff: noqa: N802 - the names that unittest calls
from __future__ import annotations

import ast
import importlib.util
import json
import logging
import os
import random
import sys
import traceback
import types
import unittest
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTER = "__count_assertion__"
WATCHER = "__watch_definition__"
_UNITTEST_EXIT = getattr(unittest.TestProgram.runTests, "__code__", None)

BOX = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
MAX_TEXT_CHARACTERS = 1000
MAX_TRACEBACK_LINES = 8
MAX_LINE_CHARACTERS = 200
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "MPLBACKEND": "Agg",
    "TOKENIZERS_PARALLELISM": "false",
}


def main(job: dict[str, Any]) -> None:
    """Run the test and exit by ``os._exit``, so that no exit hook of the answer runs afterwards."""
    leave, write = os._exit, os.write
    repository = job["repository"]

    def send(event: str, error: BaseException | None = None, **facts: object) -> None:
        if error is not None:
            facts["error"] = describe_error(error, inside=repository)
        line = json.dumps({"event": event, **facts}) + "\n"
        write(job["events"], line.encode())

    _enter(job)
    watch_module = _sibling("upstream_watch")
    unittest.TextTestRunner.resultclass = recording_result(send)
    # Before the watch begins, since it remembers how log records are made.
    _record_logging(send, lambda: watch.look_at_models())
    watch = watch_module.Watch()
    watch_module.install(watch)
    random.seed(watch_module.SEED)
    code = _run(job, send, watch)
    logging.shutdown()
    flush(sys.stdout)
    flush(sys.stderr)
    send("left", replaced=watch.replaced())
    leave(code)


def _run(job: dict[str, Any], send: Any, watch: Any) -> int:
    """Run the test file; return the exit code that Python would have used."""
    try:
        span = tuple(job["span"]) if job["span"] else None
        script = Script(job["unit_test"], job["argument"], span)
    except Exception as error:  # noqa: BLE001 - any error while compiling is reported
        send("raised", error=error)
        return 1
    code = 0
    try:
        script.run(watch)
    except SystemExit as error:
        code = _exit_code(error)
        if script.ended_by(error):
            send("ended", assertions=script.assertions)
        else:
            send("exited")
    except BaseException as error:  # noqa: BLE001 - the test's verdict, or the answer's mistake
        send("raised", error=error, failed=isinstance(error, AssertionError))
        code = 1
    else:
        send("ended", assertions=script.assertions)
    return code


def _enter(job: dict[str, Any]) -> None:
    """Make this process look like ``cd <repository>; PYTHONPATH=$(pwd) python unit_test/unit_test_1.py``."""
    os.chdir(job["repository"])
    os.environ.update(VARIABLES, PYTHONPATH=job["repository"])
    elsewhere = [place for place in sys.path if os.path.abspath(place) != BOX]  # noqa: PTH100
    # Last, where an editable installation of these folders would put them.
    sys.path[:] = [os.path.dirname(job["unit_test"]), job["repository"], *elsewhere, *job["path"]]  # noqa: PTH120


def _record_logging(send: Any, look: Callable[[], None]) -> None:
    """Report every log record that contains ``Passed`` or ``Failed`` before any handler receives it."""
    make = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        text = _text_of(record)
        if "Passed" in text or "Failed" in text:
            look()
            send("logged", text=plain(text, MAX_TEXT_CHARACTERS))
        return record

    logging.setLogRecordFactory(factory)


def _text_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - logging itself reports what cannot be formatted, and continues
        return ""


def _sibling(stem: str) -> Any:
    """Import a file from this file's folder by its path: the box's folder is not on ``sys.path``."""
    specification = importlib.util.spec_from_file_location(f"box_{stem}", f"{BOX}/{stem}.py")
    if specification is None or specification.loader is None:
        raise ImportError(f"{BOX}/{stem}.py cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def describe_error(error: BaseException, *, inside: str) -> dict[str, object]:
    """Return type, message and traceback, all bounded; traceback lines only of files below ``inside``."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the exception's class is the answer's
        message = "(its message cannot be printed)"
    lines = [
        plain(f"{entry.filename[len(inside) + 1 :]}:{entry.lineno} in {entry.name}: {entry.line}", MAX_LINE_CHARACTERS)
        for entry in traceback.extract_tb(error.__traceback__)
        if entry.filename.startswith(f"{inside}/")
    ]
    return {
        "type": plain(type(error).__name__, 100),
        "message": plain(message, MAX_TEXT_CHARACTERS),
        "traceback": lines[-MAX_TRACEBACK_LINES:],
    }


def plain(text: str, limit: int) -> str:
    """Cut ``text`` and replace lone surrogates, which frames do not allow."""
    return text[:limit].encode("utf-8", "replace").decode("utf-8")


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1


def flush(stream: Any) -> None:
    """Flush the stream."""
    try:
        stream.flush()
    except (OSError, ValueError, AttributeError):
        # The answer may have closed or replaced it.
        return


class Script:
    """A test file, ready to run once. ``span`` holds the goal's first and last line if the goal is in this file."""

    def __init__(self, path: str, argument: str, span: tuple[int, int] | None) -> None:
        """Compile the file. Raises SyntaxError or ValueError for text that is not Python."""
        with open(path, "rb") as file:  # noqa: PTH123 - the answer could replace pathlib's methods, but has not run yet
            tree = ast.parse(file.read(), filename=path)
        self.assertions = 0
        self._path = path
        self._argument = argument
        counted = _Counting(span).visit(tree)
        counted.body = [made for statement in counted.body for made in _watched(statement, span)]
        self._code = compile(ast.fix_missing_locations(counted), path, "exec", dont_inherit=True)
        self._own_code = {code for code in _all_code(self._code) if not _inside(code.co_firstlineno, span)}

    def run(self, watch: Any) -> None:
        """Run the file as ``__main__``; its exceptions propagate."""
        module = types.ModuleType("__main__")
        module.__file__ = self._path
        sys.modules["__main__"] = module
        sys.argv[:] = [self._argument]
        vars(module).update({COUNTER: partial(self._count, watch), WATCHER: watch.keep_definition})
        exec(self._code, vars(module))  # noqa: S102 - running this file is what the box is for

    def ended_by(self, error: SystemExit) -> bool:
        """Return whether the test itself exits: by ``unittest.main()``, or by a line of the test outside the goal."""
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        code = place.tb_frame.f_code if place is not None else None
        return code is not None and (code is _UNITTEST_EXIT or code in self._own_code)

    def _count(self, watch: Any) -> None:
        self.assertions += 1
        watch.look_at_models()


class RecordingResult(unittest.TextTestResult):
    """Also reports every test's start and end to ``send(event, **facts)``, at once."""

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
    """Return a result class for unittest's runner that reports to ``send``."""
    return type("Result", (RecordingResult,), {"send": staticmethod(send)})


class _Counting(ast.NodeTransformer):
    """Adds a counting step after every statement that asserts, except in the lines of ``span``."""

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


def _watched(statement: ast.stmt, span: tuple[int, int] | None) -> list[ast.stmt]:
    """Return ``statement``, followed by a step that has its class or function watched, except for the goal itself."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(statement, kinds) or _inside(statement.lineno, span):
        return [statement]
    arguments: list[ast.expr] = [ast.Constant(value=statement.name), ast.Name(id=statement.name, ctx=ast.Load())]
    call = ast.Call(func=ast.Name(id=WATCHER, ctx=ast.Load()), args=arguments, keywords=[])
    return [statement, ast.copy_location(ast.Expr(value=call), statement)]


def _asserts(statement: ast.stmt) -> bool:
    """Return whether it is ``assert …``, a call of something named ``assert…``, or a ``with`` of such a call."""
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
    """Return a name like ``TestLoss.test_pairs``; unittest's made-up names for class set-up keep their text."""
    name = str(test.id())
    return name.replace("__main__.", "", 1)


def _skip_is_declared(test: Any) -> bool:
    """Return whether the test's author marked it as skipped; otherwise something raised SkipTest while it ran."""
    method = getattr(test, getattr(test, "_testMethodName", ""), None)
    return bool(getattr(method, "__unittest_skip__", False) or getattr(type(test), "__unittest_skip__", False))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
