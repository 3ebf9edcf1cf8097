"""Differences as pages show them, line by line."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.diffs import LONGEST_DIFF, MOST_LINES, read_diff
from submissions.highlighting import with_visible_marks

ADDED = "--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,{} @@\n"


def test_a_difference_has_numbers_and_marks_on_both_sides() -> None:
    diff = (
        "--- a/core.py\n+++ b/core.py\n@@ -4,3 +4,4 @@\n def double(x):\n-    raise NotImplementedError\n"
        '+    """Twice\n+    x."""\n \n'
    )
    (file,) = read_diff(diff)
    assert (file.path, file.what, file.added, file.removed) == ("core.py", "changed", 2, 1)
    (hunk,) = file.hunks
    assert hunk.heading == "@@ -4,3 +4,4 @@"
    assert [(line.kind, line.mark, line.old, line.new) for line in hunk.lines] == [
        ("context", "", 4, 4),
        ("removed", "−", 5, None),
        ("added", "+", None, 5),
        ("added", "+", None, 6),
        ("context", "", 6, 7),
    ]
    # The string spans two lines, and both are highlighted as one.
    assert [line.html for line in hunk.lines[2:4]] == [
        '    <span class="sd">&quot;&quot;&quot;Twice</span>',
        '<span class="sd">    x.&quot;&quot;&quot;</span>',
    ]


def test_a_difference_inside_a_string_is_highlighted_as_the_whole_file_says() -> None:
    old = 'def double(x):\n    """Twice\n    x."""\n    return x\n'
    new = old.replace("return x", "return 2")
    diff = '--- a/core.py\n+++ b/core.py\n@@ -3,2 +3,2 @@\n     x."""\n-    return x\n+    return 2\n'

    def code(**files: dict[str, str]) -> list[str]:
        return [line.html for line in read_diff(diff, **files)[0].hunks[0].lines]

    assert code(old={"core.py": old}, new={"core.py": new}) == [
        '<span class="sd">    x.&quot;&quot;&quot;</span>',
        '    <span class="k">return</span> x',
        '    <span class="k">return</span> <span class="m">2</span>',
    ]
    # A file that does not fit the difference is not believed.
    assert code(old={"core.py": "x\n"}, new={"core.py": "x\n"}) == code()


def test_added_and_removed_files_are_named_so() -> None:
    added = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1 @@\n+x = 1\n\\ No newline at end of file\n"
    removed = "--- a/old.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x = 1\n"
    assert [(file.path, file.what) for file in read_diff(added + removed)] == [
        ("new.py", "added"),
        ("old.py", "removed"),
    ]
    assert [line.kind for line in read_diff(added)[0].hunks[0].lines] == ["added"]


def test_what_is_no_difference_or_too_long_is_left_to_plain_text() -> None:
    assert read_diff("") == []
    assert read_diff("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n x\n") == []
    assert read_diff("+" * (LONGEST_DIFF + 1)) == []
    assert read_diff(ADDED.format(MOST_LINES - 3) + "+\n" * (MOST_LINES - 3)) != []
    assert read_diff(ADDED.format(MOST_LINES) + "+\n" * MOST_LINES) == []


@pytest.mark.parametrize("line", ["diff --git a://x b://x", f"Binary files {'a' * 500} and b differ"])
def test_headers_that_unidiff_reads_slowly_are_left_to_plain_text(line: str) -> None:
    difference = ADDED.format(1) + "+x = 1\n"
    assert [file.path for file in read_diff(difference)] == ["x.py"]
    assert read_diff(f"{line}\n{difference}") == []


def test_a_carriage_return_in_a_line_hides_no_code_behind_a_comment() -> None:
    (file,) = read_diff(ADDED.format(2) + "+# fine\r    return None\n+x = 1\r\n")
    assert [re.sub("<[^>]+>", "", line.html) for line in file.hunks[0].lines] == [
        "# fine\u2039U+000D\u203a    return None",
        "x = 1",
    ]


# Carriage returns are written out, form feeds become spaces.
ONE_LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\f"), max_size=20)


@given(st.lists(ONE_LINE, min_size=1, max_size=6))
def test_every_line_of_any_text_is_shown_once_and_escaped(lines: list[str]) -> None:
    diff = f"--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
    shown = [line for file in read_diff(diff) for hunk in file.hunks for line in hunk.lines]
    assert [html.unescape(re.sub(r"</?span[^>]*>", "", line.html)) for line in shown] == [
        with_visible_marks(line) for line in lines
    ]
    assert not [line for line in shown if re.search(r"<(?!/?span[ >])", line.html)]
