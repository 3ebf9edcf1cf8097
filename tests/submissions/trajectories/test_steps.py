"""The one form of an agent's steps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from submissions.trajectories.steps import (
    MAX_STEPS,
    MAX_TEXT,
    MAX_TOTAL,
    SHORT_TEXT,
    Action,
    AgentRun,
    Step,
    TrajectoryError,
    amount,
    bounded,
    tokens,
)

STEPS = (
    Step(Action.RUN, "ls", "core.py", "What is there?", 0.5, 120, 8, 0.001),
    Step(Action.EDIT, "core.py", "edited"),
    Step(Action.EDIT, "core.py", "edited"),
    Step(Action.FINISH, "Done."),
)
WHOLE = AgentRun("agent", STEPS, "finished", 500, 60, 0.02)


def test_it_is_the_same_after_the_database() -> None:
    assert AgentRun.from_data(json.loads(json.dumps(WHOLE.as_data()))) == WHOLE


def test_long_texts_lose_their_middle_and_say_so() -> None:
    text = bounded("v" * 600 + "w" * 600, 300)
    kept = text.count("v"), text.count("w")
    assert text == "v" * kept[0] + f"\n[… {1200 - sum(kept)} characters left out …]\n" + "w" * kept[1]
    assert 290 <= len(text) <= 300
    assert bounded("v" * 300, 300) == "v" * 300


def test_what_no_database_takes_is_replaced() -> None:
    step = Step(Action.RUN, "a\0b", "\ud83d", "ok")
    assert (step.input, step.observation) == ("a\ufffdb", "\ufffd")


def test_steps_beyond_the_limit_are_counted_only() -> None:
    found = AgentRun("agent", tuple(Step(Action.RUN) for _ in range(MAX_STEPS + 3)))
    assert (len(found.steps), found.left_out) == (MAX_STEPS, 3)
    assert AgentRun.from_data(found.as_data()) == found


def test_after_too_many_characters_steps_are_shortened() -> None:
    count = MAX_TOTAL // MAX_TEXT + 10
    found = AgentRun("agent", tuple(Step(Action.RUN, "x" * MAX_TEXT) for _ in range(count)))
    assert [len(step.input) for step in found.steps[:2]] == [MAX_TEXT, MAX_TEXT]
    assert len(found.steps[-1].input) <= SHORT_TEXT
    assert sum(step.length for step in found.steps) <= MAX_TOTAL + MAX_TEXT + 10 * SHORT_TEXT


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"steps": [1]},
        {"steps": [{"action": "jump"}]},
        {"steps": [{"action": "run", "input": 5}]},
        {"steps": [{"action": "run", "colour": "blue"}]},
    ],
)
def test_anything_else_is_refused(data: Any) -> None:
    with pytest.raises(TrajectoryError):
        AgentRun.from_data(data)


@pytest.mark.parametrize("number", [-1, True, "7", float("nan"), float("inf"), 10**16])
def test_numbers_that_are_none_are_unknown(number: object) -> None:
    assert (tokens(number), amount(number)) == (None, None)
