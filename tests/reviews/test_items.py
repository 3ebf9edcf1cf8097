"""What somebody who labels gets to see of an answer: all that is needed, and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from reviews.labelling.items import blind_item, line_count, shown_definition
from submissions.answers.git_tool import unified_diff
from tests.benchmark_tasks.factories import MASKED, STUB
from tests.reviews.factories import assigned, case_of
from tests.reviews.labelling import CANDIDATE, HIDDEN, held_by

if TYPE_CHECKING:
    from benchmark_tasks.models import TaskRevision
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


def test_an_item_holds_task_golden_and_candidate(task: TaskRevision, annotator: Reviewer) -> None:
    item = blind_item(held_by(annotator, task))
    assert (item.task, item.goal, item.category) == ("alpha/1", "double", "Evaluation Metrics")
    assert (item.instruction, item.paper_title) == ("Implement double.", "Alpha: A Score")
    assert (item.paper_address, item.paper_year, item.paper_form) == ("https://example.org/alpha", 2024, "pdf")
    assert (item.golden, item.candidate, item.candidate_is_diff) == (GOLDEN, CANDIDATE.rstrip("\n"), False)
    assert [(file.path, file.text) for file in item.context] == [("scoring/tables.py", "WEIGHTS = [3.0]\n")]
    masked = item.masked
    assert (masked.path, masked.text, masked.first, masked.last) == ("scoring/core.py", MASKED, 8, 11)


def test_nothing_hidden_is_in_an_item(task: TaskRevision, annotator: Reviewer) -> None:
    text = str(asdict(blind_item(held_by(annotator, task, diff=HELPER + GOAL))))
    assert ([word for word in HIDDEN if word in text], "candidate-comment" in text) == ([], True)


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
        ("def double(x):\r\n    return x\r\n\n", "def double(x):\n    return x"),
        ('    def f(self):\n        return """\nleft"""\n', '    def f(self):\n        return """\nleft"""'),
        ("def f():\n    return 'a\u202eb'\n", "def f():\n    return 'a\u2039U+202E\u203ab'"),
    ],
    ids=["method", "line ends", "string that holds less", "mark that reorders"],
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
