"""Measuring how much of the golden function's code is in an answer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submissions.answers.similarity import similarity

GOLDEN = '''def total(xs, beta):
    """Sum of squares."""
    found = 0
    for x in xs:
        found += beta * x
    return found
'''
# The same with a different name and comment.
RENAMED = """def total(xs, beta):
    # Another remark.
    s = 0
    for x in xs:
        s += beta * x
    return s
"""


def test_formatting_docstrings_and_comments_do_not_count() -> None:
    assert similarity(GOLDEN.replace('"""Sum of squares."""', "# nothing"), GOLDEN) == {"tokens": 1.0, "tree": 1.0}


def test_names_count_for_tokens_and_not_for_the_tree() -> None:
    runs = ["found", "=", "0", "for", "x", "in", "xs", ":", "found", "+=", "beta", "*", "x", "return", "found"]
    changed = [token if token != "found" else "s" for token in runs]
    both = [set(zip(each, each[1:], each[2:], strict=False)) for each in (runs, changed)]
    expected = round(2 * len(both[0] & both[1]) / (len(both[0]) + len(both[1])), 3)
    assert similarity(RENAMED, GOLDEN) == {"tokens": expected, "tree": 1.0}
    assert expected == 0.615


def test_the_tree_counts_nodes_with_equal_subtrees() -> None:
    """Inner nodes: Assign and Return of one; Assign, Return and its BinOp of the other. The Assign is in both."""
    assert similarity("def f():\n    a = 1\n    return a\n", "def f():\n    b = 2\n    return b + 1\n")["tree"] == 0.4


def test_signatures_do_not_count() -> None:
    one, other = "def f(a, b, c, d, e):\n    return a.b.c\n", "def f(a, b, c, d, e):\n    yield [1, 2]\n"
    assert similarity(one, other) == {"tokens": 0.0, "tree": 0.0}


def test_a_method_keeps_its_indentation() -> None:
    method = "".join(f"    {line}" for line in GOLDEN.splitlines(keepends=True))
    assert similarity(method, GOLDEN) == {"tokens": 1.0, "tree": 1.0}


DOCSTRING_ONLY = 'def f():\n    """Sum of squares."""\n'


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "def f(",
        "def f():\n    pass\n",
        "x\x00y",
        "    def f(self):\n        ...\n",
        DOCSTRING_ONLY,
    ],
)
def test_texts_that_cannot_be_compared_have_no_similarity(answer: str) -> None:
    assert similarity(answer, GOLDEN) == {}


@given(st.text(max_size=80) | st.text("def f():\n\t =+[](){}'\"#1x", max_size=80))
def test_any_text_is_compared_without_errors_and_within_range(text: str) -> None:
    for found in (similarity(text, GOLDEN), similarity(f"def f():\n    {text}", GOLDEN)):
        assert all(0 <= number <= 1 for number in found.values())
        assert found.keys() in (set(), {"tokens", "tree"})


def test_deep_and_long_code_is_compared_too() -> None:
    deep = f"def f():\n    return {'-' * 80}1\n"
    long = "def f():\n" + "".join(f"    a = b + c[{number}]\n" for number in range(3_000))
    began = time.process_time()
    assert similarity(deep, deep) == similarity(long, long) == {"tokens": 1.0, "tree": 1.0}
    # Quadratic time would take minutes.
    assert time.process_time() - began < 30
