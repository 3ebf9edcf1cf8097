"""Reading OpenHands' output.jsonl, in every state in which people have it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.generation.openhands import MAX_BYTES, read_openhands
from evaluator.generation.trajectory import Action, Step, Trajectory, TrajectoryError


def action(number: int, name: str, args: dict[str, Any], *, reply: str = "", source: str = "agent") -> dict[str, Any]:
    """An action as OpenHands writes it, at a second of its own."""
    event = {"id": number, "timestamp": f"2025-05-16T01:00:{number:02}.000000", "source": source, "message": ""}
    event |= {"action": name, "args": args}
    if reply:
        event["tool_call_metadata"] = {"model_response": {"id": reply}}
    return event


def observation(number: int, cause: int, name: str, content: str) -> dict[str, Any]:
    """What came of an action."""
    time = f"2025-05-16T01:00:{number:02}.500000"
    return {"id": number, "timestamp": time, "source": "agent", "cause": cause, "observation": name, "content": content}


NOTHING = {"observation": "null", "content": "", "message": "No observation", "extras": {}}
EVENTS = [
    [action(0, "message", {"content": "Implement it."}, source="user"), NOTHING],
    [action(1, "recall", {"query": "x"}, source="user"), observation(2, 1, "recall", "context")],
    [action(3, "run", {"command": "ls", "thought": "Look first."}, reply="r1"), observation(4, 3, "run", "core.py")],
    [action(5, "read", {"path": "core.py"}, reply="r1"), observation(6, 5, "read", "def f(): ...")],
    [
        action(7, "think", {"thought": "So it is."}, reply="r2"),
        observation(8, 7, "think", "Your thought has been logged."),
    ],
    [
        action(9, "edit", {"path": "core.py", "command": "str_replace", "old_str": "a", "new_str": "b"}, reply="r3"),
        observation(10, 9, "edit", "edited"),
    ],
    [action(11, "run_ipython", {"code": "1 + 1"}), observation(12, 11, "run_ipython", "2")],
    [action(13, "browse_interactive", {"thought": "", "browser_actions": "goto"}), observation(14, 13, "browse", "no")],
    [action(15, "message", {"content": "Shall I go on?"}), NOTHING],
    [action(16, "finish", {"final_thought": "Done."})],
]
METRICS: dict[str, Any] = {
    "accumulated_cost": 0.6,
    "accumulated_token_usage": {"prompt_tokens": 700, "completion_tokens": 70},
    "costs": [{"cost": 0.1}, {"cost": 0.2}, {"cost": 0.3}],
    "token_usages": [
        {"response_id": "r1", "prompt_tokens": 100, "completion_tokens": 10},
        {"response_id": "r2", "prompt_tokens": 200, "completion_tokens": 20},
        {"response_id": "r3", "prompt_tokens": 400, "completion_tokens": 40},
    ],
}
RUN: dict[str, Any] = {"instance_id": "3", "history": EVENTS, "metrics": METRICS, "error": None}
READ = Trajectory(
    source="openhands",
    steps=(
        Step(Action.RUN, "ls", "core.py", "Look first.", 1.5, 100, 10, 0.1),
        Step(Action.READ, "core.py", "def f(): ...", "", 1.5),
        Step(Action.MESSAGE, "So it is.", "", "", 1.5, 200, 20, 0.2),
        Step(Action.EDIT, "core.py\ncommand: str_replace\nold_str: a\nnew_str: b", "edited", "", 1.5, 400, 40, 0.3),
        Step(Action.RUN, "1 + 1", "2", "", 1.5),
        Step(Action.OTHER, 'browse_interactive: {"browser_actions": "goto"}', "no", "", 1.5),
        Step(Action.MESSAGE, "Shall I go on?"),
        Step(Action.FINISH, "Done."),
    ),
    ending="finished",
    input_tokens=700,
    output_tokens=70,
    dollars=0.6,
)


def lines(*runs: object) -> bytes:
    return b"".join(json.dumps(run).encode() + b"\n" for run in runs)


def test_a_run_is_read_step_by_step() -> None:
    """Each reply's tokens and cost are counted once; what the machinery notes for itself is left out."""
    assert read_openhands(lines(RUN)) == {"3": READ}
    assert READ.counts() == {"run": 2, "read": 1, "edit": 1, "message": 2, "finish": 1, "other": 1}


def test_events_may_lie_flat() -> None:
    flat = [event for pair in EVENTS for event in pair]
    assert read_openhands(lines({**RUN, "history": flat})) == {"3": READ}


def test_without_ids_an_observation_follows_its_action() -> None:
    bare = [{key: value for key, value in event.items() if key not in ("id", "cause")} for event in EVENTS[2]]
    (found,) = read_openhands(lines({"instance_id": 7, "history": bare})).values()
    assert found.steps == (Step(Action.RUN, "ls", "core.py", "Look first.", 1.5),)
    assert (found.input_tokens, found.output_tokens, found.dollars) == (None, None, None)


def test_a_list_of_events_is_one_run_without_a_name() -> None:
    (name, found), *others = read_openhands(json.dumps([event for pair in EVENTS for event in pair]).encode()).items()
    assert (name, others, len(found.steps), found.dollars) == ("", [], 8, None)


def test_several_runs_are_told_apart_and_the_later_of_one_counts() -> None:
    failed: dict[str, Any] = {"instance_id": "3", "history": [], "metrics": None, "error": "BadRequestError: too long"}
    other = {**RUN, "instance_id": 14}
    found = read_openhands(lines(failed, other, RUN))
    assert list(found) == ["3", "14"]
    assert found["3"] == READ
    assert read_openhands(lines(RUN, failed))["3"].ending == "BadRequestError: too long"


def test_broken_lines_are_passed_over() -> None:
    data = (
        b"\xef\xbb\xbf"
        + lines(RUN)
        + b"\nnot json\n"
        + lines([1], {"history": 5})
        + lines({**RUN, "instance_id": "4"})[:-40]
    )
    assert read_openhands(data) == {"3": READ}


def test_numbers_that_no_database_takes_are_unknown() -> None:
    text = lines(RUN).replace(b'"accumulated_cost": 0.6', b'"accumulated_cost": NaN').replace(b"700", b"-700")
    (found,) = read_openhands(text).values()
    assert (found.dollars, found.input_tokens) == (None, 700)


def test_prices_that_cannot_be_told_apart_are_not_guessed() -> None:
    metrics = {**METRICS, "costs": METRICS["costs"][:2]}
    (found,) = read_openhands(lines({**RUN, "metrics": metrics})).values()
    assert [step.dollars for step in found.steps if step.input_tokens] == [None, None, None]
    assert found.dollars == 0.6


def test_a_run_that_did_not_finish_says_so() -> None:
    (found,) = read_openhands(lines({**RUN, "history": EVENTS[:5]})).values()
    assert found.ending == "stopped without finishing"


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{}", b"[]", b"[[[", b"null", b"[" * 100_000, b'{"history": 1}\n'])
def test_what_is_no_run_is_refused(data: bytes) -> None:
    with pytest.raises(TrajectoryError, match="No line of the trajectory is a run of OpenHands"):
        read_openhands(data)


def test_a_file_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(TrajectoryError, match="larger than 8 MB"):
        read_openhands(b" " * (MAX_BYTES + 1))


def test_one_huge_line_is_bounded() -> None:
    history = [action(1, "run", {"command": "x" * 5_000_000})]
    (found,) = read_openhands(lines({"history": history})).values()
    assert len(found.steps[0].input) <= 20_000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(["id", "cause", "action", "observation", "source", "args", "timestamp", "content", "message"])
WORDS = st.sampled_from(
    ["run", "agent", "edit", "finish", "recall", "2025-05-16T01:00:00", "2025-05-16T01:00:00+00:00"]
)
FOREIGN = st.lists(st.dictionaries(KEYS, WORDS | VALUES, max_size=7) | VALUES, max_size=6)


@settings(max_examples=300, deadline=None)
@given(history=FOREIGN, metrics=VALUES, error=VALUES, name=VALUES, cut=st.integers(0, 40))
def test_nothing_in_a_file_raises_anything_else(history: Any, metrics: Any, error: Any, name: Any, cut: int) -> None:
    run = {"instance_id": name, "history": history, "metrics": metrics, "error": error}
    data = json.dumps(run).encode()
    try:
        found = read_openhands(data[: len(data) - cut])
    except TrajectoryError:
        return
    for trajectory in found.values():
        assert Trajectory.from_data(json.loads(json.dumps(trajectory.as_data(), allow_nan=False))) == trajectory


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(TrajectoryError):
        read_openhands(data)
