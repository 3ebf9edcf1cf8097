"""An agent at work in a real box: what it does, how it ends, how it goes on after it was broken off."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.generation.agent_talk import CUT_OFF, REMINDER
from evaluator.generation.agent_types import AgentTask, StoredStep
from evaluator.providers.types import FaultKind, Finish, ProviderFault
from evaluator.sandbox.types import RunCancelledError, Sandbox
from submissions.trajectories.steps import Action
from tests.evaluator.generation.agent_runs import (
    FINISH,
    GOLDEN,
    LABEL,
    LIMITS,
    SOLVE,
    STUB,
    edit,
    make_task,
    read,
    reply,
    run,
    use,
    work,
)
from tests.evaluator.sandbox.boxes import leftovers

CHECK = "python -c 'import numpy as np; from ranking.goal import rank; print(rank(np.array([1.0, 3.0, 2.0])))'"

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def task(tmp_path: Path) -> AgentTask:
    return make_task(tmp_path)


def test_a_model_reads_edits_runs_and_finishes(each_sandbox: Sandbox, task: AgentTask) -> None:
    worked = work(
        each_sandbox,
        task,
        reply(read("ranking/goal.py"), text="First I look."),
        use("think", thought="Sort by score."),
        SOLVE,
        run(f"{CHECK}; cat ../paper/paper.txt; pwd; command -v sed; exit 3"),
        FINISH,
    )
    printed = worked.observations[3].splitlines()
    assert (printed[:3], printed[3].split("/")[-1]) == (
        ["Exit code 3.", "[1 2 0]", "Rank by score, best first./tmp/workspace/repository"],
        "sed",
    )
    assert worked.observations[:3] == [STUB.rstrip(), "Noted.", "Edited from line 10: 1 line replaced by 1 line."]
    result = worked.result
    assert result.changed == {"ranking/goal.py": GOLDEN.encode()}
    assert (result.deleted, result.refused, result.is_definition) == ((), (), False)
    assert (result.finished, result.ending) == (True, "The model finished.")
    assert [step.action for step in result.trajectory.steps] == [
        Action.READ,
        Action.MESSAGE,
        Action.EDIT,
        Action.RUN,
        Action.FINISH,
    ]
    first = result.trajectory.steps[0]
    assert (first.thought, first.input, first.input_tokens, first.output_tokens) == (
        "First I look.",
        "ranking/goal.py",
        10,
        5,
    )
    assert (result.trajectory.source, result.trajectory.input_tokens, result.trajectory.output_tokens) == (
        "agent",
        50,
        25,
    )
    assert worked.script.asked == [1, 2, 3, 4, 5]
    assert leftovers(LABEL) == []


def test_what_the_model_is_told(bubblewrap: Sandbox, task: AgentTask) -> None:
    first = reply(read("README.md"), use("think", thought="Hm."), text="I look.")
    worked = work(bubblewrap, task, first, FINISH)
    opening, second = worked.script.requests
    assert [tool.name for tool in opening.tools] == ["run", "read", "edit", "think", "finish"]
    for tool in opening.tools:
        assert tool.parameters["required"] == list(tool.parameters["properties"])
        assert tool.parameters["additionalProperties"] is False
    (told,) = opening.messages
    assert told.role == "user"
    for part in ("`rank`", "`ranking/goal.py`", "Implement `rank`.", "../paper/paper.txt", "40 replies, 2 minutes"):
        assert part in told.text
    assert "paper.pdf" not in told.text
    assert second.messages[0] == told
    assert second.messages[1] == first.message
    assert [(message.role, message.text, message.tool_use_id) for message in second.messages[2:]] == [
        ("tool", "# Ranking", first.tool_uses[0].id),
        ("tool", "Noted.", first.tool_uses[1].id),
    ]


def test_uses_of_one_turn_are_carried_out_in_order_until_the_end(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(
        bubblewrap, task, reply(run("echo 1 > n"), run("cat n"), edit("n", "1", "2"), run("cat n"), FINISH, run("rm n"))
    )
    assert worked.observations == [
        "Exit code 0. Nothing was printed.",
        "Exit code 0.\n1",
        "Edited from line 1: 1 line replaced by 1 line.",
        "Exit code 0.\n2",
        "Finished.",
        "(not carried out: the work had ended)",
    ]
    assert worked.result.changed == {"n": b"2\n"}


def test_wrong_calls_are_told_and_the_work_goes_on(bubblewrap: Sandbox, task: AgentTask) -> None:
    broken = replace(use("read"), wrong="no JSON", raw='{"path": "x')
    worked = work(
        bubblewrap,
        task,
        use("browse", address="x"),
        broken,
        use("read", path=7, first_line="one", last_line=None),
        use("run", command="ls", seconds=True),
        use("edit", path="a", old=""),
        use("think", thought="x", more=1),
        run("ls\0"),
        edit("a", "", "\ud800"),
        read("nothing.py"),
        edit("README.md", "nothing", "x"),
        SOLVE,
        FINISH,
    )
    assert worked.observations[:10] == [
        "Error: There is no tool 'browse'; there are run, read, edit, think, finish.",
        "Error: The arguments of read cannot be read: no JSON",
        "Error: The argument `path` of read must be a string.",
        "Error: The argument `seconds` of run must be an integer.",
        "Error: edit needs the argument `new` (a string).",
        "Error: think has no argument 'more'.",
        "Error: The argument `command` of run holds a NUL or more than 1048576 characters.",
        "Error: a string holds a lone surrogate",
        "Error: No such file or directory: /tmp/workspace/repository/nothing.py",
        "Error: `old` does not occur in the file: it must match exactly, spaces and line ends included",
    ]
    assert worked.result.changed == {"ranking/goal.py": GOLDEN.encode()}
    assert [step.action for step in worked.result.trajectory.steps][:3] == [Action.OTHER] * 3
    assert worked.result.trajectory.steps[1].input == 'read {"path": "x'


def test_a_reply_without_a_tool_is_reminded_and_three_in_a_row_end_it(bubblewrap: Sandbox, task: AgentTask) -> None:
    talk, cut = reply(text="Let me think."), reply(text="I was", finish=Finish.TRUNCATED)
    worked = work(bubblewrap, task, talk, cut, SOLVE, talk, talk, talk)
    assert worked.script.asked == [1, 2, 3, 4, 5, 6]
    assert (worked.result.finished, worked.result.ending) == (
        False,
        "The model used no tool in 3 replies in a row.",
    )
    assert [message.text for message in worked.script.requests[2].messages if message.role == "user"][1:] == [
        REMINDER,
        CUT_OFF,
    ]
    assert worked.result.changed == {"ranking/goal.py": GOLDEN.encode()}
    assert worked.result.trajectory.steps[0].input == "Let me think."


def test_a_refusal_ends_it(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(bubblewrap, task, reply(text="No.", finish=Finish.REFUSED))
    assert (worked.result.finished, worked.result.ending) == (False, "The model refused to go on.")
    assert worked.result.changed == {}


def test_steps_and_seconds_are_limited(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(bubblewrap, task, SOLVE, run("ls"), limits=replace(LIMITS, steps=2))
    assert (worked.result.finished, worked.result.ending) == (False, "The limit of 2 steps was reached.")
    assert worked.result.changed == {"ranking/goal.py": GOLDEN.encode()}
    limits = replace(LIMITS, seconds=1.5)
    worked = work(bubblewrap, task, SOLVE, run("sleep 20"), FINISH, limits=limits)
    assert worked.result.ending == "The limit of 1.5 seconds was reached."
    assert worked.observations[1].startswith("Stopped after 1")
    assert worked.script.asked == [1, 2]


def test_the_oldest_observations_give_way_to_new_ones(bubblewrap: Sandbox, task: AgentTask) -> None:
    show = "seq 1 2000"
    limits = replace(LIMITS, context_tokens=14_000, max_output_tokens=1000, observation_chars=9000)
    worked = work(bubblewrap, task, *[run(show) for _ in range(5)], FINISH, limits=limits)
    last = [message.text for message in worked.script.requests[-1].messages if message.role == "tool"]
    assert len(last) == 5
    kept = [text.startswith("Exit code 0.\n1\n2\n") for text in last]
    assert kept == sorted(kept)
    assert (kept[0], kept[-1]) == (False, True)
    assert last[0] == "(left out: the conversation has grown too long. Ask again for what you still need.)"
    assert all(observation.startswith("Exit code 0.\n1\n2\n") for observation in worked.observations[:5])


def test_a_conversation_that_cannot_be_shortened_ends(bubblewrap: Sandbox, task: AgentTask) -> None:
    limits = replace(LIMITS, context_tokens=4000, max_output_tokens=1000, observation_chars=20_000)
    worked = work(bubblewrap, task, SOLVE, run("seq 1 5000"), FINISH, limits=limits)
    assert worked.result.ending == "The conversation no longer fits the model's context."
    assert worked.script.asked == [1, 2]


def test_what_the_caller_raises_passes_through_and_leaves_no_box(bubblewrap: Sandbox, task: AgentTask) -> None:
    def fail(step: int) -> None:
        if step == 2:
            raise ProviderFault(FaultKind.LOST, "lost")

    with pytest.raises(ProviderFault, match="lost"):
        work(bubblewrap, task, SOLVE, FINISH, before=fail)
    assert leftovers(LABEL) == []


def test_a_run_that_was_broken_off_goes_on_where_it_was(bubblewrap: Sandbox, task: AgentTask) -> None:
    turns = [
        reply(read("ranking/goal.py"), SOLVE),
        reply(run("date +%N > stamp; echo out; mkdir -p data; echo x > data/new.py; rm README.md"), text="Go."),
        reply(run("cat data/new.py; cat ranking/goal.py")),
        reply(FINISH),
    ]
    whole = work(bubblewrap, task, *turns)
    kept = [StoredStep.from_data(json.loads(json.dumps(step.as_data()))) for step in whole.steps[:2]]
    assert kept == whole.steps[:2]
    resumed = work(bubblewrap, task, *turns, replay=kept)
    assert resumed.script.asked == [3, 4]
    assert resumed.script.requests == whole.script.requests[2:]
    assert [step.number for step in resumed.steps] == [3, 4]
    assert resumed.observations == whole.observations[3:]
    assert resumed.result.deleted == whole.result.deleted == ("README.md",)
    expected = {"data/new.py": b"x\n", "ranking/goal.py": GOLDEN.encode()}
    for worked in (whole, resumed):
        assert {path: content for path, content in worked.result.changed.items() if path != "stamp"} == expected
    assert [step.action for step in resumed.result.trajectory.steps] == [
        step.action for step in whole.result.trajectory.steps
    ]


def test_a_run_that_had_ended_is_not_asked_again(bubblewrap: Sandbox, task: AgentTask) -> None:
    whole = work(bubblewrap, task, SOLVE, FINISH)
    again = work(bubblewrap, task, replay=whole.steps)
    assert (again.script.asked, again.steps) == ([], [])
    assert again.result == whole.result


def test_cancelling_kills_the_box_within_five_seconds(each_sandbox: Sandbox, task: AgentTask) -> None:
    begun: list[float] = []

    def cancelled() -> bool:
        return bool(begun) and time.monotonic() > begun[0] + 1

    with pytest.raises(RunCancelledError):
        work(
            each_sandbox,
            task,
            run("sleep 60", 20),
            FINISH,
            cancelled=cancelled,
            before=lambda _: begun.append(time.monotonic()),
        )
    assert time.monotonic() - begun[0] < 6
    assert leftovers(LABEL) == []


def test_cancelling_while_the_model_is_asked(bubblewrap: Sandbox, task: AgentTask) -> None:
    asked: list[int] = []
    with pytest.raises(RunCancelledError):
        work(bubblewrap, task, run("ls"), FINISH, cancelled=lambda: bool(asked), before=asked.append)
    assert asked == [1]
    assert leftovers(LABEL) == []
