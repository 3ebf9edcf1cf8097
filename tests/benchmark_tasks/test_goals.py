"""Finding the goal definition in a source file."""

from __future__ import annotations

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.goals import Goal, defines_function, find_goal
from benchmark_tasks.domain.python_source import Definition, SourceError


def goal(function: str = "f", class_name: str = "") -> Goal:
    return Goal("dpo/1", "a.py", function, class_name)


TWO_METHODS = "class A:\n def f(s): pass\nclass B:\n def f(s): pass\n"
PROPERTY = "class A:\n  @property\n  def f(s): pass\n  @f.setter\n  def f(s, v): pass\n  @f.deleter\n  def f(s): pass\n"

FOUND = {
    "function": ("def f():\n    pass\n", goal(), (ast.FunctionDef, 1, 1, 2)),
    "whole class": ("class f:\n    x = 1\n", goal("f", "f"), (ast.ClassDef, 1, 1, 2)),
    "decorators": ("@a\n@b(1)\ndef f():\n    pass\n", goal(), (ast.FunctionDef, 1, 3, 4)),
    "@ in brackets": ("@(\n  a\n)\ndef f():\n    pass\n", goal(), (ast.FunctionDef, 1, 4, 5)),
    "function, not the method": (
        "class A:\n    def f(self):\n        pass\ndef f(): pass\n",
        goal(),
        (ast.FunctionDef, 4, 4, 4),
    ),
    "nested class": ("class A:\n  class B:\n    def f(s): pass\n", goal("f", "A.B"), (ast.FunctionDef, 3, 3, 3)),
    "in an except": ("try:\n  import q\nexcept E:\n  def f(): pass\n", goal(), (ast.FunctionDef, 4, 4, 4)),
    "surely bound after a condition": (
        "if x:\n  def f(): pass\ndef f(): return 1\n",
        goal(),
        (ast.FunctionDef, 3, 3, 3),
    ),
    "property, not its setter and deleter": (PROPERTY, goal("f", "A"), (ast.FunctionDef, 2, 3, 3)),
    "the only one: a method": (TWO_METHODS.replace("f(", "g(", 1), goal(), (ast.FunctionDef, 4, 4, 4)),
    "the only one: a function named as its class": ("def f(): pass\n", goal("f", "f"), (ast.FunctionDef, 1, 1, 1)),
    "the only one: a class": ("class f: pass\n", goal(), (ast.ClassDef, 1, 1, 1)),
    "comments below belong to it": (
        "def f():\n    pass\n    # TODO\n\n  # more\n# not\n",
        goal(),
        (ast.FunctionDef, 1, 1, 5),
    ),
    "after many conditions": (
        "if x: pass\n" + "elif x: pass\n" * 400 + "def f(): pass\n",
        goal(),
        (ast.FunctionDef, 402, 402, 402),
    ),
}


@pytest.mark.parametrize("case", FOUND)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_place(case: str, end: str, mark: str) -> None:
    source, wanted, place = FOUND[case]
    found = find_goal((mark + source.replace("\n", end)).encode(), wanted)
    assert (type(found.node), found.first_line, found.def_line, found.last_line) == place
    assert found.node.name == wanted.function
    assert found.outermost in found.source.tree.body


def test_text_is_exact() -> None:
    source = b"\xef\xbb\xbfclass A:\r\n\t@x\r\n\tdef f(self):\r\n\t\treturn '\xc3\xa4'  # end\r\n\r\ny = 1\r\n"
    found = find_goal(source, goal("f", "A"))
    assert found.text == "\t@x\r\n\tdef f(self):\r\n\t\treturn 'ä'  # end\r\n"
    assert find_goal(source.removeprefix(b"\xef\xbb\xbf"), goal("f", "A")).text == found.text


@pytest.mark.parametrize(
    ("source", "wanted", "message"),
    [
        ("x = 1\n", goal(), "does not define the function 'f' at module level"),
        (
            TWO_METHODS,
            goal(),
            "does not define the function 'f' at module level (class_name may have to be one of: A, B)",
        ),
        (
            "class B:\n  def f(s): pass\n",
            goal("f", "A"),
            "does not define the method 'f' in the class 'A' (class_name may have to be one of: B)",
        ),
        (PROPERTY.replace("@property", "@f.setter"), goal("f", "A"), "does not define the method 'f' in the class 'A'"),
        (
            "try:\n  import q\nexcept ImportError:\n  def f(): pass\nelse:\n  def f(): return 1\n",
            goal(),
            "defines 'f' several times under conditions (lines 4, 6), so it is not clear which one is meant",
        ),
    ],
)
def test_not_found(source: str, wanted: Goal, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        find_goal(source.encode(), wanted)
    hint = " (class_name may have to be one of: A)" if source.startswith("class A:\n  @f.setter") else ""
    assert str(caught.value) == message + hint


def test_defines_function() -> None:
    assert defines_function(b"def run(case): pass\n", "run")
    assert defines_function("# coding: latin-1\nif 'ä':\n  def run(case): pass\n".encode("latin-1"), "run")
    assert not defines_function(b"class run: pass\nclass A:\n  def run(case): pass\n", "run")


@given(st.text(alphabet="deflassync f():\n\t@x=1'\"#;", max_size=80).map(str.encode))
def test_found_lines_lie_in_the_file(source: bytes) -> None:
    with contextlib.suppress(SourceError):
        found = find_goal(source, goal())
        node: Definition = found.node
        assert 1 <= found.first_line <= found.def_line <= found.last_line <= len(found.source.lines)
        assert found.last_line >= (node.end_lineno or 0)
