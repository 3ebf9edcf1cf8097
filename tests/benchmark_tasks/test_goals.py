"""Finding the goal definition in a source file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.goals import (
    GoalKind,
    GoalNotFoundError,
    GoalSpan,
    SourceUnreadableError,
    defines_function,
    find_goal,
    goal_source,
    source_lines,
)

CASES = [
    pytest.param("def f():\n    pass\n", "f", "", (GoalKind.FUNCTION, 1, 1, 2, ""), id="function"),
    pytest.param("x = 1\nasync def f():\n    pass\n", "f", "", (GoalKind.ASYNC_FUNCTION, 2, 2, 3, ""), id="async"),
    pytest.param("class f:\n    x = 1\n", "f", "f", (GoalKind.CLASS, 1, 1, 2, ""), id="whole class"),
    pytest.param("@a\n@b(1)\ndef f():\n    pass\n", "f", "", (GoalKind.FUNCTION, 1, 3, 4, ""), id="decorators"),
    pytest.param("@(\n  a\n)\ndef f():\n    pass\n", "f", "", (GoalKind.FUNCTION, 1, 4, 5, ""), id="@ in brackets"),
    pytest.param(
        "class A:\n    def f(self):\n        pass\ndef f(): pass\n",
        "f",
        "A",
        (GoalKind.FUNCTION, 2, 2, 3, "    "),
        id="method, not the function",
    ),
    pytest.param(
        "class A:\n    def f(self):\n        pass\ndef f(): pass\n",
        "f",
        "",
        (GoalKind.FUNCTION, 4, 4, 4, ""),
        id="function, not the method",
    ),
    pytest.param("class A:\n\tdef f(self):\n\t\tpass\n", "f", "A", (GoalKind.FUNCTION, 2, 2, 3, "\t"), id="tabs"),
    pytest.param("def f(): pass\ndef f():\n  return 2\n", "f", "", (GoalKind.FUNCTION, 2, 2, 3, ""), id="last wins"),
    pytest.param(
        "class A:\n  def f(s): pass\nclass A:\n  def f(s): return 1\n",
        "f",
        "A",
        (GoalKind.FUNCTION, 4, 4, 4, "  "),
        id="last class wins",
    ),
    pytest.param(
        "class A:\n  class B:\n    def f(s): pass\n",
        "f",
        "A.B",
        (GoalKind.FUNCTION, 3, 3, 3, "    "),
        id="nested class",
    ),
    pytest.param(
        "def g():\n  def f(): pass\n  return f\ndef f(): pass\n",
        "f",
        "",
        (GoalKind.FUNCTION, 4, 4, 4, ""),
        id="not inner",
    ),
    pytest.param(
        "try:\n  import q\nexcept ImportError:\n  def f(): pass\nelse:\n  def f(): return 1\n",
        "f",
        "",
        (GoalKind.FUNCTION, 6, 6, 6, "  "),
        id="else of try",
    ),
    pytest.param(
        "match 1:\n  case 1:\n    def f(): pass\n", "f", "", (GoalKind.FUNCTION, 3, 3, 3, "    "), id="in a match"
    ),
    pytest.param("if x:\n  def f(): pass\n", "f", "", (GoalKind.FUNCTION, 2, 2, 2, "  "), id="in an if"),
    pytest.param(
        "x = '\u2028\x0b'\ndef f():\n    pass\n", "f", "", (GoalKind.FUNCTION, 2, 2, 3, ""), id="odd separators"
    ),
    pytest.param('x = "\\d"\ndef f(): pass\n', "f", "", (GoalKind.FUNCTION, 2, 2, 2, ""), id="invalid escape"),
]


@pytest.mark.parametrize(("source", "function", "class_name", "span"), CASES)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("as_bytes", [True, False])
def test_span(
    source: str,
    function: str,
    class_name: str,
    span: tuple[GoalKind, int, int, int, str],
    end: str,
    bom: str,
    as_bytes: bool,
) -> None:
    text = bom + source.replace("\n", end)
    kind, first, start, last, indent = span
    found = find_goal(text.encode() if as_bytes else text, function, class_name)
    assert found == GoalSpan(kind, function, first, start, last, indent)
    assert found.decorated is (first < start)


def test_source_is_exact() -> None:
    source = b"\xef\xbb\xbfclass A:\r\n\t@x\r\n\tdef f(self):\r\n\t\treturn '\xc3\xa4'  # end\r\n\r\ny = 1\r\n"
    assert goal_source(source, "f", "A") == "\t@x\r\n\tdef f(self):\r\n\t\treturn 'ä'  # end\r\n"
    assert goal_source(source.decode(), "f", "A") == goal_source(source, "f", "A")


def test_source_of_a_coded_file() -> None:
    source = "# -*- coding: latin-1 -*-\ndef f():\n    return 'ä'\n".encode("latin-1")
    assert goal_source(source, "f") == "def f():\n    return 'ä'\n"


def test_source_without_a_final_newline() -> None:
    assert goal_source("x = 1\ndef f(): return 1", "f") == "def f(): return 1"


@pytest.mark.parametrize(
    ("source", "function", "class_name", "message"),
    [
        ("x = 1\n", "f", "", "does not define the function 'f' at module level"),
        (
            "class A:\n def f(s): pass\nclass B:\n def f(s): pass\n",
            "f",
            "",
            "does not define the function 'f' at module level (class_name may have to be one of: A, B)",
        ),
        ("def f(): pass\n", "f", "f", "does not define the class 'f'"),
        ("def f(): pass\n", "f", "A", "does not define the class 'A'"),
        ("class A:\n  x = 1\n", "f", "A", "does not define the method 'f' in the class 'A'"),
        ("class f: pass\n", "f", "", "does not define the function 'f' at module level"),
    ],
)
def test_not_found(source: str, function: str, class_name: str, message: str) -> None:
    with pytest.raises(GoalNotFoundError) as caught:
        find_goal(source, function, class_name)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("source", "line"),
    [(b"def f(:\n", 1), (b"x = 1\nx = = 2\n", 2), (b"x\0", None), (b"# coding: klingon\n", None), (b"\xff\xfe", None)],
)
def test_unreadable(source: bytes, line: int | None) -> None:
    with pytest.raises(SourceUnreadableError) as caught:
        find_goal(source, "f")
    if line is not None:
        assert caught.value.line == line


def test_defines_function() -> None:
    assert defines_function(b"def run(case): pass\n", "run")
    assert not defines_function(b"class run: pass\nclass A:\n  def run(case): pass\n", "run")


def test_lines_keep_their_ends() -> None:
    assert source_lines("a\r\nb\rc\x0cd\nlast") == [b"a\r\n", b"b\r", b"c\x0cd\n", b"last"]


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_any_source_is_found_or_refused(source: bytes | str) -> None:
    try:
        find_goal(source, "f")
    except (GoalNotFoundError, SourceUnreadableError):
        return


@given(st.text(alphabet="deflassync f():\n\t@x=1'\"#;", max_size=80))
def test_found_lines_lie_in_the_file(source: str) -> None:
    try:
        span = find_goal(source, "f")
    except (GoalNotFoundError, SourceUnreadableError):
        return
    assert 1 <= span.first_decorator_line <= span.start_line <= span.end_line <= len(source_lines(source))
