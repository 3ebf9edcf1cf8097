"""Code without its comments and docstrings does the same."""

from __future__ import annotations

import ast

import pytest

from benchmark_tasks.domain.catalogue import SHIPPED_SUITES_FOLDER
from benchmark_tasks.domain.python_source import same_definition
from evaluator.judging.stripping import without_comments


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
        ("if x:\n    'only this'\nelse:\n    'and this'\n", "if x:\n    pass\nelse:\n    pass\n"),
        ('"""Only this."""\n', "\n"),
    ],
)
def test_remarks_are_taken_out(source: str, stripped: str) -> None:
    assert without_comments(source) == stripped


@pytest.mark.parametrize(
    "source",
    [
        "def f( x ):\n    return   x\n",
        'def f():\n    return "# no comment"\n',
        "def f(:\n    # broken\n",
        "    def f(self):\n        return 1\nx = 2  # and more\n  y\n",
        "x = 1\0  # nul",
        "",
    ],
)
def test_what_has_none_or_does_not_parse_stays_as_it_is(source: str) -> None:
    assert without_comments(source) == source


def test_the_shipped_code_does_the_same_afterwards() -> None:
    files = sorted((SHIPPED_SUITES_FOLDER / "lmr-mini").glob("*/golden_files/*.py"))
    assert len(files) >= 9
    for file in files:
        source = file.read_text(encoding="utf-8")
        stripped = without_comments(source)
        assert "#" not in "".join(ast.unparse(ast.parse(stripped)).split("'")[::2])
        bare = ast.parse(source)
        bare.body = [node for node in bare.body if not _is_text(node)]
        assert same_definition(stripped, ast.unparse(bare))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
