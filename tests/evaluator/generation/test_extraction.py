"""From a model's words to an answer: every shape that models give code, and what is said of it."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_tasks.domain.goals import Goal, find_goal
from benchmark_tasks.domain.python_source import same_code, without_docstrings
from evaluator.generation.extraction import MAX_TEXT, Extracted, NoAnswerError, extract
from submissions.answers.splice import splice
from tests.evaluator.generation.mini_goldens import mini_goldens
from tests.evaluator.generation.shapes import SHAPES

FUNCTION = Goal(task="alpha/1", file="scoring/core.py", function="score")
METHOD = Goal(task="alpha/2", file="scoring/core.py", function="score", class_name="Scorer")
CLASS = Goal(task="alpha/3", file="scoring/core.py", function="Scorer", class_name="Scorer")
MASKED = b'''"""Scores."""
import math


def halve(x):
    return x / 2


def score(x, *, base=2):
    """The score of x."""
    raise NotImplementedError
'''
MASKED_METHOD = b"""import math


class Scorer:
    scale = 2

    def score(self, x, *, base=2):
        raise NotImplementedError

    def other(self):
        return 1
"""


def taken(text: str, goal: Goal = FUNCTION, masked: bytes = MASKED, *, alone: bool = False) -> Extracted:
    """What is taken, after trying that it goes into the masked file."""
    found = extract(text, goal=goal, masked_file=masked, alone=alone)
    splice(masked, goal, found.source.encode())
    return found


def not_taken(text: str, goal: Goal = FUNCTION, masked: bytes = MASKED) -> str:
    with pytest.raises(NoAnswerError) as refusal:
        extract(text, goal=goal, masked_file=masked)
    return refusal.value.note


@pytest.mark.parametrize("shape", SHAPES)
def test_every_golden_answer_is_recovered_from_every_shape(shape: str) -> None:
    """Nine tasks; the same syntax tree but for docstrings comes out of the real splice."""
    goldens = mini_goldens()
    assert len(goldens) == 9
    wrong = []
    for goal, golden in goldens:
        masked = golden.masked.encode()
        source = extract(SHAPES[shape](golden), goal=goal, masked_file=masked).source
        result = find_goal(splice(masked, goal, source.encode()), goal).node
        wanted = find_goal(golden.file.encode(), goal).node
        trees = [without_docstrings(ast.Module(body=[node], type_ignores=[])) for node in (result, wanted)]
        if not same_code(*trees):
            wrong.append(goal.task)
    assert wrong == []


def test_what_was_taken_is_said() -> None:
    two = "```\nprint(1)\n```\n```python\ndef score(x, *, base=2):\n    return x\n```\n```\nscore(3)\n```\n"
    assert taken(two) == Extracted("def score(x, *, base=2):\n    return x\n", "Taken from block 2 of 3.")
    assert taken("def score(x, *, base=2):\n    return x\n").note == "Taken from text without a fence."


def test_the_last_block_that_defines_it_wins() -> None:
    text = "".join(f"```python\ndef score(x, *, base=2):\n    return {n}\n```\n" for n in (1, 2))
    found = taken(text)
    assert found.source == "def score(x, *, base=2):\n    return 2\n"
    assert found.note == "Taken from block 2 of 2. It is the last of 2 pieces that define score."


@pytest.mark.parametrize("body", ["...", "pass", "raise NotImplementedError", "# ... rest as before\n    return x"])
def test_a_later_sketch_does_not_win(body: str) -> None:
    text = f"```\ndef score(x, *, base=2):\n    return 7\n```\n```\ndef score(x, *, base=2):\n    {body}\n```\n"
    assert taken(text).source == "def score(x, *, base=2):\n    return 7\n"


def test_of_two_definitions_in_a_block_the_later_wins() -> None:
    found = taken("```\ndef score(x):\n    return 1\n\ndef score(x):\n    return 2\n```")
    assert found.source == "def score(x):\n    return 2\n"
    assert found.note == "Taken from the fenced block. score is defined 2 times there; the last one was taken."


def test_what_it_needs_comes_along_and_nothing_else() -> None:
    found = taken(
        "```python\nimport math\nimport os\nfrom collections import Counter\n\nEPS = 1e-8\nUNUSED = 3\n\n"
        "def _step(x):\n    return Counter([x, EPS])\n\ndef unused():\n    return os\n\n"
        "def score(x, *, base=2):\n    return math.log(_step(halve(x)))\n\nprint(score(2))\n```"
    )
    assert found.source == (
        "from collections import Counter\n\nEPS = 1e-8\n\ndef _step(x):\n    return Counter([x, EPS])\n\n\n"
        "def score(x, *, base=2):\n    return math.log(_step(halve(x)))\n"
    )
    assert found.note == "Taken from the fenced block. Kept beside it: the import of Counter; EPS; _step."


def test_helpers_may_stand_in_another_block() -> None:
    found = taken("First:\n```\ndef _step(x):\n    return x\n```\nThen:\n```\ndef score(x):\n    return _step(x)\n```")
    assert found.source == "def _step(x):\n    return x\n\n\ndef score(x):\n    return _step(x)\n"


def test_the_files_own_definitions_stay() -> None:
    found = taken("```\ndef halve(x):\n    return 0\n\ndef score(x):\n    return halve(x)\n```")
    assert found.source == "def score(x):\n    return halve(x)\n"
    assert found.note == "Taken from the fenced block. Left aside, since the file has its own: halve."


def test_what_may_not_stand_beside_moves_into_the_body() -> None:
    found = taken(
        "```\ntry:\n    import cmath\nexcept ImportError:\n    cmath = None\n\ntable = dict(a=1)\n\n"
        'def score(x):\n    """The score."""\n    return cmath, table[x]\n```'
    )
    assert found.source == (
        'def score(x):\n    """The score."""\n    try:\n        import cmath\n    except ImportError:\n'
        "        cmath = None\n    table = dict(a=1)\n    return cmath, table[x]\n"
    )
    assert found.note == "Taken from the fenced block. Moved into its body: cmath; table."


def test_alone_everything_moves_into_the_body() -> None:
    found = taken(
        "```\nimport cmath\n\ndef _s(x):\n    return x\n\ndef score(x): return cmath.exp(_s(x))\n```", alone=True
    )
    assert found.source == (
        "def score(x):\n    import cmath\n    def _s(x):\n        return x\n    return cmath.exp(_s(x))\n"
    )


def test_another_name_with_the_same_parameters_is_renamed_also_where_it_calls_itself() -> None:
    found = taken("```\ndef compute(x, *, base=2):\n    return compute(x - 1, base=base) if x else 'compute'\n```")
    assert found.source == "def score(x, *, base=2):\n    return score(x - 1, base=base) if x else 'compute'\n"
    assert "It is called compute there; it is the only function with the goal's parameters." in found.note
    assert not_taken("```\ndef compute(y):\n    return y\n```") == "Nothing in the answer defines score."


def test_a_body_alone_gets_the_files_header() -> None:
    found = taken("```python\ny = halve(x)\nif y:\n    return y\nreturn base\n```")
    assert found.source == (
        "def score(x, *, base=2):\n    y = halve(x)\n    if y:\n        return y\n    return base\n"
    )
    assert "It is a body only; the signature is the masked file's." in found.note


@pytest.mark.parametrize(
    "text",
    [
        "```\ndef score(x):\nreturn 2 * x\n```",
        "```\n@staticmethod\n    def score(x):\n        return 2 * x\n```",
        "```\n    def score(x):\n        return 2 * x\n```",
        "```\ndef score(x):\n\treturn 2 * x\n```",
        ">>> def score(x):\n...     return 2 * x\n...\n>>> score(2)\n4\n",
        "1: def score(x):\n2:     return 2 * x\n",
        "```\n+def score(x):\n+    return 2 * x\n```",
        "```def score(x): return 2 * x```",
    ],
)
def test_wrong_indentation_and_marks_are_mended(text: str) -> None:
    source = taken(text).source
    lines = [line for line in source.split("\n") if not line.startswith("@")]
    assert ast.unparse(ast.parse("\n".join(lines))) == "def score(x):\n    return 2 * x"


def test_a_docstring_with_fences_does_not_end_the_block() -> None:
    docstring = '"""Score.\n\n    ```\n    score(1)\n    ```\n    """'
    text = f"```python\ndef score(x):\n    {docstring}\n    return x\n```\nThat is it."
    assert taken(text).source.endswith('    """\n    return x\n')


METHODS = {
    "alone": "```\ndef score(self, x, *, base=2):\n    return self.scale * x\n```",
    "in its class": "```\nclass Scorer:\n    def score(self, x, *, base=2):\n        return self.scale * x\n```",
    "in the whole class": "```\nclass Scorer:\n    scale = 3\n\n    def other(self):\n        return 9\n\n"
    "    def score(self, x, *, base=2):\n        return self.scale * x\n```",
    "in another class": "```\nclass Better:\n    def score(self, x, *, base=2):\n        return self.scale * x\n```",
    "beside a function": "```\ndef score(rows):\n    return rows\n\nclass Scorer:\n"
    "    def score(self, x, *, base=2):\n        return self.scale * x\n```",
}


@pytest.mark.parametrize("shape", METHODS)
def test_methods(shape: str) -> None:
    source = taken(METHODS[shape], METHOD, MASKED_METHOD).source
    assert source == "def score(self, x, *, base=2):\n    return self.scale * x\n"


def test_a_whole_class() -> None:
    text = "```\nimport cmath\n\nclass Scorer:\n    def score(self, x):\n        return cmath.exp(x)\n```"
    assert taken(text, CLASS, MASKED_METHOD).source == (
        "import cmath\n\n\nclass Scorer:\n    def score(self, x):\n        return cmath.exp(x)\n"
    )


def test_a_diff_that_does_not_fit_gives_its_added_lines() -> None:
    files = "--- a/scoring/core.py\n+++ b/scoring/core.py\n"
    text = f"```diff\n{files}@@ -1 +1,2 @@\n-def nothing(): pass\n+def score(x):\n+    return x\n```"
    found = taken(text)
    assert found.source == "def score(x):\n    return x\n"
    assert found.note == "Taken from a diff. It does not fit the file; the lines that it adds were taken."


def test_a_diffs_changes_of_other_files_are_left_aside() -> None:
    text = (
        "--- a/scoring/core.py\n+++ b/scoring/core.py\n@@ -10 +10 @@\n-    raise NotImplementedError\n+    return 7\n"
        "--- a/run.py\n+++ b/run.py\n@@ -1 +1 @@\n-a\n+b\n"
    )
    found = taken(text)
    assert found.source.endswith("return 7\n")
    assert found.note == "Taken from a diff. Its changes of other files were left aside: run.py."


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "The answer is empty."),
        (" \n\t", "The answer is empty."),
        ("I cannot help with that.", "Nothing in the answer defines score."),
        ("```\nx = 1\n```", "Nothing in the answer defines score."),
        ("```\ndef score(x:\n  return\n```", "No block of code that is valid Python defines score."),
        (
            "```\ndef score(x, *, base=2):\n    raise NotImplementedError\n```",
            "The code leaves score as it was masked.",
        ),
        ("```\nclass score:\n    pass\n```", "Nothing in the answer defines score."),
        ("x" * (MAX_TEXT + 1), f"The answer is longer than {MAX_TEXT} characters."),
        ("```\ndef score(x):\n    return x\n    break\n```", "The code for score cannot be used: The masked file"),
    ],
)
def test_what_holds_no_answer_says_so(text: str, note: str) -> None:
    assert not_taken(text).startswith(note)


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 60_000,
        "def score(x:\n" * 20_000,
        "def score(x):\n  (\n" * 20_000,
        "(" * 300_000,
        "def score(x):\n    return " + "-" * 200_000 + "x\n",
        "def score(x):\n    return " + "(" * 5_000 + "x" + ")" * 5_000,
        "import a\n" * 40_000,
        "@@ -1 +1 @@\n-a\n+b\n" * 20_000,
        "<think>" * 50_000,
        '"' * 300_000,
        "class A:\n def score(x):\n" * 10_000,
    ],
)
def test_hostile_texts_end_soon(text: str) -> None:
    began = time.monotonic()
    not_taken(text)
    assert time.monotonic() - began < 5


PIECES = st.sampled_from(
    [
        *("```", "```python", "~~~", "````", "def score(x, *, base=2):", "    return x", "return x", "class Scorer:"),
        *(
            "    def score(self):",
            "        pass",
            "@x",
            "import os",
            "from a import *",
            "from __future__ import division",
        ),
        *("+def score(x):", "-a", "@@ -1 +1 @@", "--- a/scoring/core.py", "+++ b/scoring/core.py", '"""', "&lt;", "\t"),
        *(
            "<think>",
            "</think>",
            "words",
            "",
            "x = [",
            "]",
            ">>> score(1)",
            "1: a",
            "\u00a0\u00a0",
            "\\",
            "\ud800",
            "\0",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.text(max_size=12), max_size=14), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_whatever_is_written_gives_an_answer_that_fits_or_none(pieces: list[str], end: str, alone: bool) -> None:
    try:
        found = extract(end.join(pieces), goal=FUNCTION, masked_file=MASKED, alone=alone)
    except NoAnswerError:
        return
    ast.parse(found.source)
    splice(MASKED, FUNCTION, found.source.encode())
    assert found.note


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    with pytest.raises(NoAnswerError):
        extract(text, goal=FUNCTION, masked_file=MASKED)
