"""Comparing texts side by side: no line is lost, similar lines are paired, the right words are marked."""

from __future__ import annotations

import html
import re
import time
from collections import Counter
from difflib import SequenceMatcher
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submissions.comparison import (
    MOST_LINES,
    Budget,
    Row,
    compare,
    differing,
    likeness,
    numbered,
    opcodes,
    side_by_side,
)

GOLDEN = "def double(x):\n    total = x + x\n    return total"
TEXTS = st.lists(st.sampled_from(["", "a = 1", "a = 2", "  a = 1", "b(a, c)", "b(a, d)", "\t", "return a"])).map(
    "\n".join
)


def shape(rows: list[Row]) -> list[tuple[str, int | None, int | None]]:
    return [(row.kind, row.left and row.left.number, row.right and row.right.number) for row in rows]  # type: ignore[misc]


def marked(row: Row) -> tuple[list[str], list[str]]:
    """Return the marked words of both sides."""
    return tuple([line.text[start:end] for start, end in line.marks] if line else [] for line in (row.left, row.right))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        (GOLDEN, GOLDEN, [("equal", 1, 1), ("equal", 2, 2), ("equal", 3, 3)]),
        (GOLDEN, GOLDEN.replace("x + x", "x * 2"), [("equal", 1, 1), ("changed", 2, 2), ("equal", 3, 3)]),
        ("a = 1\nb = 2", "a = 1\n# twice\nb = 2", [("equal", 1, 1), ("added", None, 2), ("equal", 2, 3)]),
        (
            "begin\n    total = x + x\nend",
            "begin\n    import math\n    total = math.fsum(x)\nend",
            [("equal", 1, 1), ("added", None, 2), ("changed", 2, 3), ("equal", 3, 4)],
        ),
        ("one\ntwo", "red green\nblue black\ngrey", [("changed", 1, 1), ("changed", 2, 2), ("added", None, 3)]),
    ],
    ids=["equal", "changed", "added", "added before its version", "rewritten"],
)
def test_versions_of_a_line_are_side_by_side(old: str, new: str, rows: list[Any]) -> None:
    assert shape(compare(old, new)) == rows


def test_changed_words_are_marked_unless_the_line_is_rewritten() -> None:
    assert marked(compare(GOLDEN, GOLDEN.replace("x + x", "x * 2"))[1]) == (["+", "x"], ["*", "2"])
    assert [marked(row) for row in compare("one\ntwo", "red green\nblue black")] == [([], [])] * 2


@pytest.mark.parametrize(("ignore", "kinds"), [(False, ["equal", "changed"]), (True, ["equal", "equal"])])
def test_whitespace_can_be_ignored(ignore: bool, kinds: list[str]) -> None:
    rows = compare("if a:\n    b = 1", "if a:\n  b=1", ignore_whitespace=ignore)
    assert [row.kind for row in rows] == kinds
    assert [(row.left.text, row.right.text) for row in rows][1] == ("    b = 1", "  b=1")


def test_ignored_whitespace_is_not_marked() -> None:
    assert differing("a  = 1", "a = 2", Budget(), ignore_whitespace=True) == (((5, 6),), ((4, 5),))
    assert differing("a  = 1", "a = 2", Budget(), ignore_whitespace=False) == (((1, 3), (5, 6)), ((1, 2), (4, 5)))


def test_likeness_counts_common_words() -> None:
    assert likeness(Counter("a=b"), Counter("b=a")) == 1.0
    assert likeness(Counter("ab"), Counter("ac")) == 0.5
    assert likeness(Counter(), Counter()) == 1.0


@given(TEXTS, TEXTS, st.booleans())
def test_rows_rebuild_both_texts(golden: str, candidate: str, ignore: bool) -> None:
    rows = compare(golden, candidate, ignore_whitespace=ignore)
    for side, text in (("left", golden), ("right", candidate)):
        lines = [line for row in rows if (line := getattr(row, side))]
        assert "\n".join(line.text for line in lines) == text
        assert [line.number for line in lines] == list(range(1, len(lines) + 1))
        assert all(0 <= start < end <= len(line.text) for line in lines for start, end in line.marks)
    assert {row.kind for row in rows if not row.left} <= {"added"}
    assert {row.kind for row in rows if not row.right} <= {"removed"}


@given(st.lists(st.sampled_from("ab"), max_size=8), st.lists(st.sampled_from("ab"), max_size=8), st.booleans())
def test_beyond_the_budget_only_common_heads_and_tails_are_equal(left: list[str], right: list[str], rich: bool) -> None:
    found = opcodes(left, right, Budget() if rich else Budget(0))
    rebuilt = [
        item
        for tag, start, end, other, last in found
        for item in (left[start:end] if tag == "equal" else right[other:last])
    ]
    assert rebuilt == right
    assert [item for _, start, end, _, _ in found for item in left[start:end]] == left
    if rich:
        assert found == SequenceMatcher(None, left, right, autojunk=False).get_opcodes()


def test_one_budget_covers_a_whole_comparison() -> None:
    budget = Budget(12)
    assert opcodes("ab", "bc", budget) == [("delete", 0, 1, 0, 0), ("equal", 1, 2, 0, 1), ("insert", 2, 2, 1, 2)]
    assert budget.steps == 3
    assert opcodes("ab", "bc", budget) == [("replace", 0, 2, 0, 2)]


def test_marks_may_begin_within_a_highlighted_token() -> None:
    (row,) = side_by_side("f('one two', 3)", "f('one six', 4)").rows
    assert row.right
    assert row.right.html == (
        'f(<span class="s">&#x27;one </span><mark><span class="s">six</span></mark><span class="s">&#x27;</span>, '
        '<mark><span class="m">4</span></mark>)'
    )


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20), min_size=1))
def test_every_line_of_any_text_is_shown_once_and_escaped(lines: list[str]) -> None:
    for languages in (("python", "python"), ("", "diff")):
        shown = [
            row.right.html for row in side_by_side("'<b>'", "\n".join(lines), languages=languages).rows if row.right
        ]
        assert [html.unescape(re.sub(r"</?(span|mark)[^>]*>", "", line)) for line in shown] == (
            [line.replace("\r", " ") for line in lines] if lines != [""] else []
        )
        assert not [line for line in shown if re.search(r"<(?!/?(?:span|mark)[ >])", line)]


def test_long_unchanged_runs_are_folded_but_for_three_lines_at_each_change() -> None:
    lines = [f"a{number} = {number}" for number in range(30)]
    found = side_by_side("\n".join(lines), "\n".join([*lines[:14], "b = 1", *lines[15:]]))
    folds = [(True, 11), (False, 3), (False, 1), (False, 3), (True, 12)]
    assert [(block.folded, len(block.rows)) for block in found.blocks] == folds
    text = "\n".join(["x = 1"] * 40)
    assert [(block.folded, len(block.rows)) for block in side_by_side(text, text).blocks] == [(False, 40)]


def test_lines_beyond_the_limit_are_plain_text() -> None:
    short, long = "g = 1", "\n".join(f"c{number} = 1" for number in range(MOST_LINES + 2))
    found = side_by_side(short, long)
    assert [row.right.number for row in found.rows if row.right] == list(range(1, MOST_LINES + 1))
    assert found.rest == (("right", MOST_LINES + 1, "c3000 = 1\nc3001 = 1"),)
    assert side_by_side(long, short).rest[0][0] == "left"
    assert side_by_side(short, short).rest == ()


def test_texts_with_many_repeated_lines_are_compared_quickly() -> None:
    """Blank lines alone would take minutes, on a public page."""
    old = "first\n" + "a\n\n" * 12_000 + "last"
    begun = time.monotonic()
    found = side_by_side(old, old.replace("first", "1st") + "\nmore")
    assert time.monotonic() - begun < 5
    assert found.rows[0].kind == "changed"


def test_numbered_lines_show_code_after_a_carriage_return() -> None:
    assert [line.number for line in numbered("a = 1\n\nb = 2\n")] == [1, 2, 3]
    (line,) = numbered("# fine\rx = 1\r\n")
    assert re.sub("<[^>]+>", "", line.html) == "# fine\u2039U+000D\u203ax = 1"


def test_docstrings_are_folded_and_other_lines_keep_their_numbers() -> None:
    text = '"""Module.\n\nMore."""\nx = 1\ndef f():\n    """One.\n\n    Two.\n    """\n    return 1\n'
    folded = side_by_side(text, text.replace("Two", "Three").replace("return 1", "return 2"), fold_docstrings=True)
    rows = [(row.kind, row.left.number, row.left.text) for row in folded.rows if row.left]
    assert rows == [
        ("equal", 1, '"""…"""'),
        ("equal", 4, "x = 1"),
        ("equal", 5, "def f():"),
        ("equal", 6, '    """…"""'),
        ("changed", 10, "    return 1"),
        ("equal", 11, ""),
    ]


def test_unchanged_docstrings_are_blocks_that_hide_no_line_that_differs() -> None:
    head = 'def f():\n    """One.\n\n    Two.\n    """\n'
    text = head + "    return 1"
    found = side_by_side(text, text.replace("return 1", "return 2"), docstring_blocks=True)
    shapes = [(block.folded, block.docstring, block.changed, len(block.rows)) for block in found.blocks]
    assert shapes == [
        (False, False, False, 1),
        (False, False, False, 1),
        (True, True, False, 3),
        (False, False, True, 1),
    ]
    found = side_by_side(text, text.replace("Two", "Three"), docstring_blocks=True)
    assert [(block.folded, len(block.rows)) for block in found.blocks] == [(False, 1), (False, 2), *[(False, 1)] * 3]
    assert [row.docstring for row in found.rows] == [False, True, True, True, True, False]
    bare = side_by_side(text, "def f():\n    return 2", docstring_blocks=True)
    assert [(row.kind, row.docstring) for row in bare.rows] == [
        ("equal", False),
        *[("removed", True)] * 4,
        ("changed", False),
    ]
    assert not any(block.folded for block in bare.blocks)
    short = text.replace("    Two.\n", "")
    assert not any(block.folded for block in side_by_side(short, f"{short}1", docstring_blocks=True).blocks)
    assert not any(block.docstring for block in side_by_side(text, f"{text}1").blocks)


def test_a_block_with_something_below_a_line_is_never_hidden() -> None:
    text = "\n".join(f"a{number} = {number}" for number in range(30))
    found = side_by_side(text, f"{text}1")
    assert [block.is_hidden for block in found.blocks] == [True, False, False]
    found.rows[4].below.append("a finding")
    assert [block.is_hidden for block in found.blocks] == [False, False, False]
