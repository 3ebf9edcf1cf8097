"""What somebody who labels gets to see of an answer: all that is needed, and nothing else."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from benchmark_tasks.models import TaskRevision
from reviews.labelling.items import blind_item, line_count, shown_definition
from reviews.showing import Rest, beyond_comparison, numbered, side_by_side
from submissions.answers.git_tool import unified_diff
from tests.benchmark_tasks.factories import MASKED, STUB
from tests.reviews.factories import assigned, case_of
from tests.reviews.labelling import CANDIDATE, HIDDEN, held_by, stored_task

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

    from reviews.models import Reviewer

pytestmark = pytest.mark.django_db

GOLDEN = 'def double(x):\n    """Twice x."""\n    return math.fsum([x, x])  # golden-double'
HELPER = (
    "diff --git a/scoring/tables.py b/scoring/tables.py\n--- a/scoring/tables.py\n+++ b/scoring/tables.py\n"
    "@@ -1,1 +1,1 @@\n-WEIGHTS = [3.0]\n+WEIGHTS = [4.0]\n"
)
GOAL = (
    "diff --git a/scoring/core.py b/scoring/core.py\n--- a/scoring/core.py\n+++ b/scoring/core.py\n"
    "@@ -11 +11 @@\n-    raise NotImplementedError\n+    return x + x\n"
)


@pytest.fixture
def task(settings: Settings, tmp_path: Path, db: None) -> TaskRevision:
    return stored_task(settings, tmp_path)


def test_an_item_holds_task_golden_and_candidate(task: TaskRevision, annotator: Reviewer) -> None:
    item = blind_item(held_by(annotator, task))
    assert (item.task, item.goal, item.category, item.instruction) == (
        "alpha/1", "double", "Evaluation Metrics", "Implement double.",
    )  # fmt: skip
    assert (item.paper_title, item.paper_address, item.paper_year, item.paper_form) == (
        "Alpha: A Score", "https://example.org/alpha", 2024, "pdf",
    )  # fmt: skip
    assert item.golden == GOLDEN
    assert item.candidate == CANDIDATE.rstrip("\n")
    assert not item.candidate_is_diff
    assert [(file.path, file.text) for file in item.context] == [("scoring/tables.py", "WEIGHTS = [3.0]\n")]


def test_the_masked_file_says_where_the_goal_is(task: TaskRevision, annotator: Reviewer) -> None:
    masked = blind_item(held_by(annotator, task)).masked
    assert (masked.path, masked.text, masked.first, masked.last) == ("scoring/core.py", MASKED, 8, 11)


def test_nothing_hidden_is_in_an_item(task: TaskRevision, annotator: Reviewer) -> None:
    text = str(asdict(blind_item(held_by(annotator, task, diff=HELPER + GOAL))))
    assert [word for word in HIDDEN if word in text] == []
    assert "candidate-comment" in text


def test_other_changes_are_those_outside_the_goal(task: TaskRevision, annotator: Reviewer) -> None:
    assert blind_item(held_by(annotator, task, diff=HELPER + GOAL)).other_changes == HELPER.rstrip("\n")


def test_a_goal_file_that_is_changed_around_the_goal_counts_as_changed(task: TaskRevision, annotator: Reviewer) -> None:
    files = {"scoring/core.py": MASKED.replace("import math", "import cmath as math")}
    item = blind_item(held_by(annotator, task, diff=GOAL, files=files))
    assert "scoring/core.py" in item.other_changes


@pytest.mark.parametrize("place", ["{attack}\n\n{goal}", "{goal}\n\n{attack}", "{goal}double = abs\n"])
def test_code_beside_the_goal_is_shown(task: TaskRevision, annotator: Reviewer, place: str) -> None:
    attack = "def fsum(x):\n    return 0.0 * x[0]  # shadow\u202e\n"
    around = MASKED.partition(f'def double(x):\n    """Twice x."""\n{STUB}')
    files = {"scoring/core.py": around[0] + place.format(attack=attack, goal=CANDIDATE) + around[2]}
    diff = unified_diff({"scoring/core.py": MASKED.encode()}, {"scoring/core.py": files["scoring/core.py"].encode()})
    item = blind_item(held_by(annotator, task, files=files, diff=HELPER + diff))
    assert item.candidate == CANDIDATE.rstrip("\n")
    assert item.other_changes == (HELPER + diff).rstrip("\n").replace("\u202e", "\u2039U+202E\u203a")


def test_without_the_goal_the_whole_difference_is_shown(task: TaskRevision, annotator: Reviewer) -> None:
    assignment = held_by(annotator, task, goal_source="", diff=HELPER)
    item = blind_item(assignment)
    assert (item.candidate_is_diff, item.candidate, item.other_changes) == (True, HELPER.rstrip("\n"), "")
    assert line_count(assignment) == {"candidate": 6, "golden": 3}


def test_lines_are_counted_as_shown(task: TaskRevision, annotator: Reviewer) -> None:
    assignment = held_by(annotator, task, goal_source="def double(x):\r\n    return x\r\n\n")
    assert line_count(assignment) == {"candidate": 2, "golden": 3}


def test_an_instance_without_the_files_shows_what_it_has(annotator: Reviewer) -> None:
    assignment = assigned(case_of(), annotator)
    item = blind_item(assignment)
    assert (item.golden, item.paper_form, item.context) == ("", "missing", ())
    assert item.masked.text.startswith("def double(x):")
    assert line_count(assignment)["golden"] == 0


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("    def f(self):\n        return 1\n\n", "def f(self):\n    return 1"),
        ('    def f(self):\n        return """\nleft"""\n', '    def f(self):\n        return """\nleft"""'),
        ("def f():\n    return 'a\u202eb'\n", "def f():\n    return 'a\u2039U+202E\u203ab'"),
    ],
    ids=["method", "string that holds less", "mark that reorders"],
)
def test_definitions_are_shown_dedented_with_nothing_hidden(source: str, shown: str) -> None:
    assert shown_definition(source) == shown


def test_code_behind_a_carriage_return_is_a_line_of_its_own(task: TaskRevision, annotator: Reviewer) -> None:
    assert shown_definition("def f(x):\r\n    # fine\r    return 0\n") == "def f(x):\n    # fine\n    return 0"
    assignment = held_by(annotator, task)
    answer = assignment.case.implementation
    answer.files, answer.deleted = {"scoring/tables.py": "# fine\rWEIGHTS = [4.0]\n"}, []
    answer.diff = unified_diff({}, {"scoring/tables.py": answer.files["scoring/tables.py"].encode()})
    shown = blind_item(assignment).other_changes
    assert shown.endswith("+# fine\u2039U+000D\u203aWEIGHTS = [4.0]")
    assert "\r" not in shown


def test_words_that_differ_are_marked_within_the_colours() -> None:
    blocks = side_by_side("def f(x):\n    return x + 1", "def f(x):\n    return x + 2")
    same, changed = (row for block in blocks for row in block.rows)
    assert (same.kind, changed.kind) == ("equal", "changed")
    assert changed.left is not None
    assert changed.right is not None
    assert changed.left.html == '    <span class="k">return</span> x + <mark><span class="m">1</span></mark>'
    assert changed.right.html.endswith('<mark><span class="m">2</span></mark>')


def test_code_is_escaped_inside_and_outside_of_marks() -> None:
    (block,) = side_by_side("a = '<b>'", "a = '<i>'")
    shown = block.rows[0].left
    assert shown is not None
    assert "<b>" not in shown.html
    assert "&lt;" in shown.html


def test_long_unchanged_runs_are_folded_but_for_three_lines_at_each_change() -> None:
    lines = [f"a{number} = {number}" for number in range(30)]
    changed = [*lines[:14], "b = 1", *lines[15:]]
    blocks = side_by_side("\n".join(lines), "\n".join(changed))
    assert [(block.folded, len(block.rows)) for block in blocks] == [
        (True, 11),
        (False, 3),
        (False, 1),
        (False, 3),
        (True, 12),
    ]


def test_equal_texts_are_shown_whole() -> None:
    text = "\n".join(["x = 1"] * 40)
    assert [(block.folded, len(block.rows)) for block in side_by_side(text, text)] == [(False, 40)]


def test_what_is_too_long_for_the_comparison_is_left_for_plain_text() -> None:
    golden, candidate = "\n".join(["g = 1"] * 10), "\n".join(f"c{number} = 1" for number in range(3003))
    rows = [row for block in side_by_side(golden, candidate) for row in block.rows]
    assert [row.right.number for row in rows if row.right] == list(range(1, 3001))
    assert beyond_comparison(golden, candidate) == (Rest("candidate", 3001, "c3000 = 1\nc3001 = 1\nc3002 = 1"),)
    assert beyond_comparison(candidate, golden)[0].side == "golden function"
    assert beyond_comparison(golden, golden) == ()


def test_marks_are_cut_out_of_the_colours_wherever_they_begin() -> None:
    blocks = side_by_side("f('one two', 3)", "f('one six', 4)")
    (row,) = (row for block in blocks for row in block.rows)
    assert row.right is not None
    assert row.right.html == (
        'f(<span class="s">&#x27;one </span><mark><span class="s">six</span></mark><span class="s">&#x27;</span>, '
        '<mark><span class="m">4</span></mark>)'
    )


def test_numbered_lines_are_the_files() -> None:
    assert [line.number for line in numbered("a = 1\n\nb = 2\n")] == [1, 2, 3]


def test_a_carriage_return_in_a_file_hides_no_code_behind_a_comment() -> None:
    (line,) = numbered("# fine\rx = 1\r\n")
    assert re.sub("<[^>]+>", "", line.html) == "# fine\u2039U+000D\u203ax = 1"
