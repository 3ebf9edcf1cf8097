"""Trajectory formats that are not parsed are recognised by their content, and no step is counted."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.answers.bundle import read_bundle
from submissions.answers.contents import BundleError, Manifest, Severity
from submissions.trajectories.reading import folder_as_lines, read_limited, read_trajectory
from submissions.trajectories.steps import AgentRun, TrajectoryError
from submissions.trajectories.unread_forms import FORMS, form_of
from tests.conftest import examples

V1_EVENTS: Final[list[dict[str, Any]]] = [
    {"kind": "SystemPromptEvent", "id": "0", "source": "agent", "system_prompt": {"text": "You are."}, "tools": []},
    {"kind": "MessageEvent", "id": "1", "source": "user", "llm_message": {"role": "user", "content": []}},
    {"kind": "ActionEvent", "id": "2", "source": "agent", "action": {"kind": "TerminalAction", "command": "ls"}},
    {"kind": "ObservationEvent", "id": "3", "source": "environment", "tool_name": "terminal", "observation": {}},
]
V1_METRICS: Final = {"accumulated_cost": 0.02, "accumulated_token_usage": {"prompt_tokens": 9, "completion_tokens": 8}}
V1_RUN: Final[dict[str, Any]] = {"instance_id": "3", "history": V1_EVENTS, "metrics": V1_METRICS, "error": None}
SWE_AGENT: Final[dict[str, Any]] = {
    "environment": "swe_main",
    "trajectory": [{"action": "ls", "observation": "a.py", "response": "I look.", "thought": "I look."}],
    "history": [{"role": "system", "content": "You are."}, {"role": "assistant", "content": "I look.", "action": "ls"}],
    "info": {"exit_status": "submitted", "model_stats": {"api_calls": 1}},
}
ATIF: Final[dict[str, Any]] = {
    "schema_version": "ATIF-v1.8",
    "agent": {"name": "mine", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Do it."},
        {"step_id": 2, "source": "agent", "message": "Done.", "tool_calls": [{"function_name": "bash"}]},
    ],
}
CLAUDE: Final[list[dict[str, Any]]] = [
    {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"]},
    {"type": "assistant", "session_id": "s", "message": {"role": "assistant", "content": [{"type": "tool_use"}]}},
    {"type": "user", "session_id": "s", "message": {"role": "user", "content": [{"type": "tool_result"}]}},
    {"type": "result", "subtype": "success", "session_id": "s", "usage": {"input_tokens": 5}},
]
V1, OF_SWE_AGENT, OF_ATIF, OF_CLAUDE = (
    *("the work of an OpenHands V1 agent", "an SWE-agent trajectory", "an ATIF trajectory", "a log of Claude Code"),
)


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def without(whole: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in whole.items() if name not in names}


FILES: Final = {
    "a V1 output": (V1, lines(V1_RUN)),
    "a V1 list": (V1, json.dumps(V1_EVENTS).encode()),
    "V1 lines": (V1, lines(*V1_EVENTS)),
    "a V1 folder": (
        V1,
        folder_as_lines({"base_state.json": b'{"id": "x"}', "events/0.json": json.dumps(V1_EVENTS[2]).encode()}),
    ),
    "SWE-agent": (OF_SWE_AGENT, json.dumps(SWE_AGENT, indent=1).encode()),
    "SWE-agent, several": (OF_SWE_AGENT, lines(SWE_AGENT, SWE_AGENT)),
    "SWE-agent without steps": (OF_SWE_AGENT, lines({**SWE_AGENT, "trajectory": []})),
    "SWE-agent without history": (OF_SWE_AGENT, lines(without(SWE_AGENT, "history"))),
    "ATIF": (OF_ATIF, json.dumps(ATIF, indent=1).encode()),
    "ATIF without a version": (OF_ATIF, lines(without(ATIF, "schema_version"))),
    "ATIF in a folder": (OF_ATIF, folder_as_lines({"agent/trajectory.json": json.dumps(ATIF).encode()})),
    "Claude Code": (OF_CLAUDE, lines(*CLAUDE)),
}


@pytest.mark.parametrize("name", FILES)
def test_the_format_is_named_and_no_step_is_counted(name: str) -> None:
    form, data = FILES[name]
    message = f"This looks like {form}, which is not read yet: it is stored as it is, and its steps are not counted."
    reading = read_trajectory(data)
    assert reading.remarks == (message,)
    (found,) = reading.runs.values()
    assert (found.unread, found.steps, found.counts(), found.ending) == (message, (), {}, "")
    assert found.source == next(each.source for each in FORMS if each.name == form)
    assert found.as_data()["steps"] is None
    assert AgentRun.from_data(json.loads(json.dumps(found.as_data()))) == found
    assert read_limited(data, instance_id="3") == found


def test_the_cost_of_an_openhands_v1_run_is_read() -> None:
    other = {**V1_RUN, "instance_id": "4", "metrics": None}
    runs = read_trajectory(lines(V1_RUN, other)).runs
    assert [(name, run.source, run.input_tokens, run.output_tokens, run.dollars) for name, run in runs.items()] == [
        ("3", "openhands_v1", 9, 8, 0.02),
        ("4", "openhands_v1", None, None, None),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"history": [{"role": "user", "content": "x"}]},
        {"trajectory": SWE_AGENT["trajectory"]},
        {"trajectory": [{"thought": "x"}], **without(SWE_AGENT, "trajectory")},
        {"steps": [{"source": "agent", "text": "x"}], "agent": {"name": "x"}},
        {"schema_version": "ATIF-v1.8"},
        {"kind": "ActionEvent"},
        {"type": "assistant", "message": "x"},
        {"messages": [], "info": SWE_AGENT["info"], "trajectory_format": "mini-swe-agent-1"},
    ],
)
def test_one_key_alone_identifies_no_format(value: dict[str, Any]) -> None:
    assert form_of([value]) is None
    assert form_of([[value], value]) is None


def test_several_runs_may_include_none_of_the_paper() -> None:
    data = lines(V1_RUN, {**V1_RUN, "instance_id": "4"})
    found = read_limited(data, instance_id="9")
    assert (found.unread, found.as_data()["steps"]) == ("The file has 2 runs, none with the id '9'.", None)


@pytest.mark.parametrize("name", [*(name for name in FILES if "folder" not in name), "OpenHands"])
def test_a_trajectory_sent_as_predictions_is_refused_once_with_advice(name: str) -> None:
    event = {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}
    run = {"instance_id": "3", "history": [event], "git_patch": "diff"}
    form, data = FILES.get(name) or ("an OpenHands trajectory", lines(run, run))
    with pytest.raises(BundleError) as refused:
        read_bundle(data, defaults=Manifest("s", None, "", "", "none", "full", "", (), ""))
    (problem,) = refused.value.problems
    what, _, advice = problem.message.partition(". ")
    assert (problem.severity, what) == (Severity.REFUSE, f"This looks like {form}, not predictions")
    assert "beside the answer that the agent gave: answers/<paper>/<index>/" in advice


KEYS: Final = (
    *("kind", "source", "history", "trajectory", "steps", "info", "environment", "agent", "schema_version", "type"),
    *("message", "session_id", "step_id", "action", "observation", "role", "content", "tool_calls", "name", "error"),
)
TEXTS: Final = ("ActionEvent", "agent", "user", "assistant", "ATIF-v1.8", "submitted", "ls", "tool_result", "1")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(TEXTS) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(VALUES, max_size=5), st.booleans())
def test_any_content_is_read_or_refused(values: list[Any], in_lines: bool) -> None:
    data = lines(*values) if in_lines else json.dumps(values).encode()
    try:
        reading = read_trajectory(data)
    except TrajectoryError:
        return
    for run in reading.runs.values():
        assert bool(run.unread) == (run.as_data()["steps"] is None) == (run.counts() == {})
        assert AgentRun.from_data(json.loads(json.dumps(run.as_data(), allow_nan=False))) == run


@pytest.mark.parametrize("form", [V1_RUN, SWE_AGENT, ATIF])
@settings(max_examples=examples(100), deadline=None)
@given(data=st.data())
def test_an_incomplete_format_is_never_read_as_another_one(form: dict[str, Any], data: st.DataObject) -> None:
    """Whatever is removed from such a file, its prompts and observations are not read as actions."""
    left = {key: value for key, value in form.items() if data.draw(st.booleans(), label=key)}
    try:
        runs = read_trajectory(lines(left)).runs
    except TrajectoryError:
        return
    assert sum(len(run.steps) for run in runs.values()) <= 1
