"""Reading Python files that other people wrote."""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark_tasks.domain.importing import import_suite
from benchmark_tasks.domain.python_source import (
    SourceError,
    parse_source,
    read_source,
    same_code,
    same_definition,
)
from benchmark_tasks.domain.queries import golden_definition
from tests.benchmark_tasks.factories import GOLDEN_DOUBLE_BODY, GOLDEN_SCORE_BODY

if TYPE_CHECKING:
    from pathlib import Path


UNREADABLE = {
    "syntax in the second line": (b"x = 1\nx = = 2\n", 2, "is not valid Python: "),
    "NUL": (b"x\0", None, "is not valid Python: "),
    "unknown encoding": (b"# coding: klingon\n", None, "is not readable as UTF-8 text (unknown encoding: klingon)"),
    "not UTF-8": (b"\xff\xfe", None, "is not readable as UTF-8 text ("),
    "Latin-1": ("# coding: latin-1\nA = 'é'\n".encode("latin-1"), None, "is not readable as UTF-8 text ("),
    "Latin-1 that happens to be ASCII": (
        b"# coding: latin-1\n",
        None,
        "declares the encoding iso-8859-1; use UTF-8, or remove that line",
    ),
    "break outside loop": (b"\nbreak\n", 2, "does not compile: 'break' outside loop"),
    "deep": (b"x = " + b"-" * 50_000 + b"1\n", None, "is nested too deeply"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable(case: str) -> None:
    content, line, message = UNREADABLE[case]
    with pytest.raises(SourceError) as caught:
        read_source(content)
    assert str(caught.value).startswith(message)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (b"", "# coding: utf8\nA = 'é'\r\n"),
        (b"", "# -*- coding: UTF-8 -*-\nA = 'é'"),
        (b"\xef\xbb\xbf", "# -*- coding: UTF-8 -*-\nA = 'é'"),
        (b"", "A = 'é'\r\f\nB = 1\n"),
        (b"\xef\xbb\xbf", "A = 'é'\r\f\nB = 1\n"),
        (b"", ""),
    ],
)
def test_mark_and_lines_make_up_the_file(mark: bytes, text: str) -> None:
    source = read_source(mark + text.encode())
    assert (source.mark, source.text) == (mark, text)
    assert "".join(source.lines) == text


def test_parsing_accepts_a_declared_encoding() -> None:
    assert ast.unparse(parse_source("# coding: latin-1\nA = 'é'\n".encode("latin-1"))) == "A = 'é'"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("def f(x):\n  return x\n", "@d\ndef f(x):\n  return x\n", False),
        ("def f(x):\n  return x\n", "\n\ndef f( x ): return (x)  # why\n", True),
        ("x = 1", "x = 1.0", False),
        ("x = 0x" + "f" * 9000, "x = 0x" + "f" * 9000, True),
        ("x = 1" + "+1" * 900, "x = 1" + "+1" * 900, True),
    ],
)
def test_same_code(first: str, second: str, same: bool) -> None:
    assert same_code(parse_source(first), parse_source(second)) is same
    assert same_code(parse_source(second), parse_source(first)) is same


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="replace")))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with contextlib.suppress(SourceError):
        source = read_source(content)
        assert source.mark + source.text.encode() == content


ONE = "def double(x):\n    return x + x\n"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (ONE, True),
        ('def double( x ):  # twice\n  """Twice."""\n  return (x + x)\n', True),
        ("    def double(x):\n        return x + x\n", True),
        ("def double(x):\n    return x * 2\n", False),
        ("def double(x):\n    return x + x\n\ndef extra():\n    pass\n", False),
        ("def double(x:\n", False),
    ],
)
def test_only_the_syntax_tree_counts(other: str, same: bool) -> None:
    assert same_definition(ONE, other) is same
    assert same_definition(other, ONE) is same


@pytest.mark.django_db
def test_the_golden_definition_comes_from_the_content_store(suite_folder: Path) -> None:
    version = import_suite(folder=suite_folder, slug="small").version
    assert version is not None
    first, second = version.revisions.order_by("task__index")
    assert golden_definition(first).endswith(GOLDEN_DOUBLE_BODY)
    assert golden_definition(second).startswith("    def score(self, x):")
    assert golden_definition(second).endswith(GOLDEN_SCORE_BODY)
