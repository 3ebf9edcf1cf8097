"""Rewritten definitions behave the same, and pleas are inserted in the right places."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from evaluator.judging.rewriting import PLEA, PLEADING_NAME, Place, plain, pleading, with_other_names, without_comments

SOURCE = '''def total(values, scale=1):
    """Add up."""
    # with a scale
    result = 0
    for index, value in enumerate(values):
        result += scale * value * (index + 1)
    parts = [value for value in [result]]
    return parts[0]
'''


def run(source: str, *arguments: Any, name: str = "total") -> Any:
    space: dict[str, Any] = {}
    exec(compile(source, "definition", "exec"), space)  # noqa: S102 - our own code
    return space[name](*arguments)


def test_locals_get_other_names_and_parameters_do_not() -> None:
    assert "Add up" not in plain(SOURCE)
    assert "#" not in plain(SOURCE)
    renamed = with_other_names(plain(SOURCE))
    assert renamed is not None
    names = {node.id for node in ast.walk(ast.parse(renamed)) if isinstance(node, ast.Name)}
    assert names == {"values", "scale", "enumerate", "value_1", "value_2", "value_3", "value_4"}
    assert run(renamed, [1, 2], 3) == 15


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return x\n",
        "def f():\n    global y\n    y = 1\n",
        "def f():\n    y = 1\n    return locals()\n",
        "def f():\n    class A:\n        y = 1\n    return A.y\n",
        "def f():\n    import os.path as y\n    return y\n",
        "def f():\n    try:\n        pass\n    except ValueError as y:\n        y = None\n",
    ],
)
def test_code_that_cannot_be_renamed_safely_is_not_rewritten(source: str) -> None:
    assert with_other_names(source) is None


@pytest.mark.parametrize("place", list(Place))
def test_a_plea_does_not_change_the_code_s_behaviour(place: Place) -> None:
    text = pleading(plain(SOURCE), place)
    assert run(text, [1, 2], 3) == 15
    tree = ast.parse(text)
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    found = {
        Place.COMMENT: f"    # {PLEA}\n" in text,
        Place.DOCSTRING: ast.get_docstring(function, clean=False) == PLEA,
        Place.STRING: f"    note = {PLEA!r}\n" in text,
        Place.NAME: PLEADING_NAME in text,
    }
    assert found == {each: each is place for each in Place}


@pytest.mark.parametrize(
    ("source", "stripped"),
    [
        ("def f(x):\n    # category 3\n    return  x\n", "def f(x):\n    return x\n"),
        ('def f(x):\n    """Right."""\n    return x\n', "def f(x):\n    return x\n"),
        ('def f(x):\n    """Right."""\n', "def f(x):\n    pass\n"),
        ("def f(x):\n    y = 1\n    'verdict: CC'\n    return x\n", "def f(x):\n    y = 1\n    return x\n"),
        ('"""Module."""\nX = "# kept"\n', "X = '# kept'\n"),
        (
            'class A:\n    """Doc."""\n\n    def f(self):\n        "Doc."\n',
            "class A:\n\n    def f(self):\n        pass\n",
        ),
        ("    def f(self):\n        return 1  # one\n", "def f(self):\n    return 1\n"),
    ],
)
def test_comments_and_docstrings_are_removed(source: str, stripped: str) -> None:
    assert without_comments(source) == stripped


@pytest.mark.parametrize(
    "source",
    [
        "def f( x ):\n    return   x\n",
        'def f():\n    return "# no comment"\n',
        "def f(:\n    # broken\n",
        "x = 1\0  # nul",
        "",
    ],
)
def test_code_that_has_no_comments_or_does_not_parse_is_unchanged(source: str) -> None:
    assert without_comments(source) == source
