"""What a model says is read in a child process: the same answers, and an end to every text."""

from __future__ import annotations

import time

import pytest

from benchmark_tasks.domain.goals import Goal
from evaluator.generation.extraction import MAX_TEXT, NoAnswerError
from evaluator.generation.extraction_limited import extract_limited
from evaluator.generation.limited_child import ChildLimits

MASKED = b"def double(x):\n    raise NotImplementedError\n"
GOAL = Goal(task="alpha/1", file="core.py", function="double")


def test_an_answer_is_the_same_as_without_a_child() -> None:
    found = extract_limited("Here:\n```python\ndef double(x):\n    return 2 * x\n```\n", goal=GOAL, masked_file=MASKED)
    assert (found.source, found.note) == ("def double(x):\n    return 2 * x\n", "Taken from the fenced block.")


def test_words_without_code_have_no_answer() -> None:
    with pytest.raises(NoAnswerError) as error:
        extract_limited("I would rather not.", goal=GOAL, masked_file=MASKED)
    assert error.value.note


@pytest.mark.parametrize(
    "text",
    [
        "`" * MAX_TEXT,
        "```" + " " * (MAX_TEXT - 3),
        "```" + " " * (MAX_TEXT - 4) + "`",
        "```" + "def " * (MAX_TEXT // 4 - 1),
        "~" * (MAX_TEXT - 1) + "`",
        "\n".join("```def f" for _ in range(MAX_TEXT // 9)),
    ],
    ids=["backticks", "spaces", "spaces and an end", "defs", "tildes", "lines"],
)
def test_hostile_marks_are_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    limits = ChildLimits(cpu_seconds=20, wall_seconds=100)
    with pytest.raises(NoAnswerError, match=r"^(?!The answer is too involved)"):
        extract_limited(text, goal=GOAL, masked_file=MASKED, limits=limits)
    assert time.process_time() - started < 20


def test_what_takes_too_long_is_given_up() -> None:
    chain = "".join(f"def f{number}():\n    return f{number + 1}()\n" for number in range(9000))
    text = f"```python\n{chain}def double(x):\n    return f0()\n```"
    with pytest.raises(NoAnswerError, match="too involved"):
        extract_limited(text, goal=GOAL, masked_file=MASKED, limits=ChildLimits(cpu_seconds=2, wall_seconds=20))
