"""Partly understood files: only actions are counted, and the rest is reported."""

from __future__ import annotations

import pytest

from submissions.trajectories.reading import read_trajectory
from submissions.trajectories.steps import Action, Step, TrajectoryError
from tests.submissions.trajectories.test_reading import EVENTS, READ, RUN, lines


@pytest.mark.parametrize(
    ("objects", "steps"),
    [
        # Every observation belongs to the preceding step, whatever else it names.
        (
            [{"command": "ls"}, {"kind": "ToolObservation", "tool_name": "bash", "output": "a"}, {"output": "b"}],
            (Step(Action.OTHER, "ls", "a\nb"),),
        ),
        ([{"tool": "bash", "input": "ls"}, {"type": "tool_result", "content": "a"}], (Step(Action.RUN, "ls", "a"),)),
        ([{"source": "environment", "text": "up"}, {"command": "ls"}], (Step(Action.OTHER, "ls"),)),
        # A prompt is not a step.
        (
            [{"source": "user", "message": "Do it."}, {"source": "agent", "message": "Yes."}],
            (Step(Action.MESSAGE, "Yes."),),
        ),
        (
            [{"type": "system_prompt", "text": "You"}, {"type": "thought", "thought": "Hm."}],
            (Step(Action.OTHER, thought="Hm."),),
        ),
        # A word within a kind that resembles an action is not an action.
        ([{"command": "ls"}, {"type": "item.completed", "item": {}}], (Step(Action.OTHER, "ls"),)),
        ([{"command": "ls"}, {"name": "run-1", "version": 2}], (Step(Action.OTHER, "ls"),)),
    ],
)
def test_only_actions_are_counted(objects: list[object], steps: tuple[Step, ...]) -> None:
    assert read_trajectory(lines(*objects)).runs[""].steps == steps


def test_no_step_is_counted_if_most_events_are_not_understood() -> None:
    other = [{"type": "item.started"}, {"type": "item.completed"}]
    with pytest.raises(TrajectoryError) as refused:
        read_trajectory(lines({"command": "ls"}, *other))
    assert str(refused.value).startswith(
        "2 of 3 events were not understood (type item.started; type item.completed), so no step is counted. It is"
    )
    reading = read_trajectory(lines({**RUN, "history": [*EVENTS[3], *other, *other]}))
    (found,) = reading.runs.values()
    assert (found.unread, found.counts(), found.as_data()["steps"]) == (reading.remarks[0], {}, None)
    assert reading.remarks[0].startswith(
        "4 of 6 events were not understood (type item.started; type item.completed), so"
    )


def test_events_that_are_not_understood_are_counted_and_named() -> None:
    reading = read_trajectory(lines({**RUN, "history": [*EVENTS, {"kind": "Dream"}, [7, {"kind": "Dream"}]]}))
    assert reading.runs == {"3": READ}
    assert reading.remarks == (
        "3 of 22 events were not understood (kind Dream; not an object); stored but not counted.",
    )
    assert reading.run_of("3").remarks == reading.remarks
