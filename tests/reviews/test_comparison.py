"""Two texts side by side: nothing is lost, what is alike stands beside each other, the right words are marked."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.comparison import Budget, Row, compare, opcodes
from reviews.comparison.words import counted, differing, likeness

GOLDEN = "def double(x):\n    total = x + x\n    return total"
TEXTS = st.lists(st.sampled_from(["", "a = 1", "a = 2", "  a = 1", "b(a, c)", "b(a, d)", "\t", "return a"])).map(
    "\n".join
)


def shape(rows: tuple[Row, ...]) -> list[tuple[str, int | None, int | None]]:
    return [(row.kind, row.left and row.left.number, row.right and row.right.number) for row in rows]  # type: ignore[misc]


def marked(row: Row) -> tuple[list[str], list[str]]:
    """The marked words of both sides."""
    return tuple([line.text[start:end] for start, end in line.marks] if line else [] for line in (row.left, row.right))  # type: ignore[return-value]


def test_equal_texts_are_equal_rows() -> None:
    assert shape(compare(GOLDEN, GOLDEN)) == [("equal", 1, 1), ("equal", 2, 2), ("equal", 3, 3)]


def test_a_changed_line_stands_beside_its_version_with_the_changed_words() -> None:
    rows = compare(GOLDEN, GOLDEN.replace("x + x", "x * 2"))
    assert shape(rows) == [("equal", 1, 1), ("changed", 2, 2), ("equal", 3, 3)]
    assert marked(rows[1]) == (["+", "x"], ["*", "2"])


def test_an_added_line_pushes_the_numbers_apart() -> None:
    rows = compare(GOLDEN, GOLDEN.replace("    total", "    # twice\n    total", 1))
    assert shape(rows) == [("equal", 1, 1), ("added", None, 2), ("equal", 2, 3), ("equal", 3, 4)]


def test_versions_of_a_line_find_each_other_between_new_lines() -> None:
    rows = compare("begin\n    total = x + x\nend", "begin\n    import math\n    total = math.fsum(x)\nend")
    assert shape(rows) == [("equal", 1, 1), ("added", None, 2), ("changed", 2, 3), ("equal", 3, 4)]


def test_a_rewrite_is_side_by_side_without_marks() -> None:
    rows = compare("one\ntwo", "red green\nblue black\ngrey")
    assert shape(rows) == [("changed", 1, 1), ("changed", 2, 2), ("added", None, 3)]
    assert [marked(row) for row in rows] == [([], [])] * 3


@pytest.mark.parametrize(("ignore", "kinds"), [(False, ["equal", "changed"]), (True, ["equal", "equal"])])
def test_blanks_can_be_ignored(ignore: bool, kinds: list[str]) -> None:
    rows = compare("if a:\n    b = 1", "if a:\n  b=1", ignore_whitespace=ignore)
    assert [row.kind for row in rows] == kinds
    assert [(row.left.text, row.right.text) for row in rows][1] == ("    b = 1", "  b=1")


def test_blanks_are_no_marked_words_when_ignored() -> None:
    assert differing("a  = 1", "a = 2", Budget(), ignore_whitespace=True) == (((5, 6),), ((4, 5),))
    assert differing("a  = 1", "a = 2", Budget(), ignore_whitespace=False) == (((1, 3), (5, 6)), ((1, 2), (4, 5)))


def test_likeness_counts_common_words() -> None:
    assert likeness(counted("a = b"), counted("b = a")) == 1.0
    assert likeness(counted("a b"), counted("a c")) == 0.5
    assert likeness(counted(""), counted("")) == 1.0


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


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_at_all_is_rebuilt(golden: str, candidate: str) -> None:
    rows = compare(golden, candidate)
    assert "\n".join(row.left.text for row in rows if row.left) == golden
    assert "\n".join(row.right.text for row in rows if row.right) == candidate


@given(st.lists(st.sampled_from("ab"), max_size=8), st.lists(st.sampled_from("ab"), max_size=8), st.booleans())
def test_within_the_budget_the_matcher_decides_and_beyond_it_only_both_ends_are_equal(
    left: list[str], right: list[str], rich: bool
) -> None:
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


def test_one_budget_serves_a_whole_comparison() -> None:
    budget = Budget(12)
    assert opcodes("ab", "bc", budget) == [("delete", 0, 1, 0, 0), ("equal", 1, 2, 0, 1), ("insert", 2, 2, 1, 2)]
    assert budget.steps == 3
    assert opcodes("ab", "bc", budget) == [("replace", 0, 2, 0, 2)]
