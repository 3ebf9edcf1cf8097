"""An agent at work in a real box: what it does, what it is told, how it ends."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.generation.agent import (
    BASH,
    CUT_OFF,
    LEFT_OUT,
    OUT_OF_CONTEXT,
    REMINDER,
    OutOfContextError,
    action_of,
)
from evaluator.generation.agent_workspace import AgentTask
from evaluator.providers.types import Finish
from evaluator.sandbox.types import RunCancelledError, Sandbox
from submissions.trajectories.steps import Action
from tests.evaluator.generation.agent_runs import (
    GOLDEN,
    LABEL,
    LIMITS,
    SOLVE,
    STUB,
    SUBMIT,
    make_task,
    reply,
    run,
    use,
    work,
)
from tests.evaluator.sandbox.boxes import leftovers

CHECK = "python -c 'import numpy as np; from ranking.goal import rank; print(rank(np.array([1.0, 3.0, 2.0])))'"
SOLVED = {"ranking/goal.py": GOLDEN.encode()}

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
def task(tmp_path: Path) -> AgentTask:
    return make_task(tmp_path)


def test_a_model_reads_edits_runs_and_submits(each_sandbox: Sandbox, task: AgentTask) -> None:
    look = run("cat ranking/goal.py")
    worked = work(
        each_sandbox,
        task,
        reply(look, text="First I look."),
        SOLVE,
        run(f"{CHECK}; cat ../paper/paper.txt; pwd; command -v sed; rm README.md; exit 3"),
        SUBMIT,
    )
    printed = worked.observations[2].splitlines()
    assert (printed[:3], printed[3].split("/")[-1]) == (
        ["Exit code 3.", "[1 2 0]", "Rank by score, best first./tmp/workspace/repository"],
        "sed",
    )
    assert worked.observations[0] == f"Exit code 0.\n{STUB.rstrip()}"
    result = worked.result
    assert (worked.changed, result.changes.deleted, result.changes.refused) == (SOLVED, ("README.md",), ())
    assert (result.finished, result.ending, result.is_definition) == (True, "The model finished.", False)
    trajectory = result.trajectory
    assert [step.action for step in trajectory.steps] == [Action.READ, Action.EDIT, Action.RUN, Action.FINISH]
    first = trajectory.steps[0]
    assert (first.thought, first.input, first.input_tokens, first.output_tokens) == (
        "First I look.",
        "cat ranking/goal.py",
        10,
        5,
    )
    assert (trajectory.source, trajectory.input_tokens, trajectory.output_tokens) == ("agent", 40, 20)
    opening, second = worked.requests[:2]
    assert opening.tools == (BASH,)
    (told,) = opening.messages
    for part in ("`rank`", "`ranking/goal.py`", "Implement `rank`.", "../paper/paper.txt", "40 replies, 2 minutes"):
        assert part in told.text
    assert "paper.pdf" not in told.text
    assert second.messages[:2] == (told, reply(look, text="First I look.").message)
    assert (second.messages[2].role, second.messages[2].tool_use_id) == ("tool", look.id)
    assert leftovers(LABEL) == []


def test_wrong_calls_are_answered_and_commands_of_one_turn_run_in_order(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(
        bubblewrap,
        task,
        use({"address": "x"}, name="browse"),
        replace(use({}), wrong="no JSON", raw='{"command": "x'),
        use({"command": 7}),
        use({"command": "ls", "seconds": 1}),
        run("ls\0"),
        run("echo \ud800"),
        reply(run("echo 1 > n"), run("cat n"), SUBMIT, run("rm n")),
    )
    assert worked.observations == [
        "Error: There is no tool 'browse'; there is only bash.",
        "Error: The arguments of bash cannot be read: no JSON",
        "Error: bash takes one argument, `command` (a string).",
        "Error: bash takes one argument, `command` (a string).",
        "Error: The command holds a NUL or more than 1048576 characters.",
        "Error: a string holds a lone surrogate",
        "Exit code 0. Nothing was printed.",
        "Exit code 0.\n1",
        "Finished.",
        "(not carried out: the work had ended)",
    ]
    assert worked.changed == {"n": b"1\n"}
    steps = worked.result.trajectory.steps
    assert [step.action for step in steps][:3] == [Action.OTHER] * 3
    assert steps[1].input == 'bash {"command": "x'


def test_a_reply_without_a_tool_is_reminded_and_three_in_a_row_end_it(bubblewrap: Sandbox, task: AgentTask) -> None:
    talk, cut = reply(text="Let me think."), reply(text="I was", finish=Finish.TRUNCATED)
    worked = work(bubblewrap, task, talk, cut, SOLVE, talk, talk, talk)
    assert (worked.result.finished, worked.result.ending) == (False, "The model used no tool in 3 replies in a row.")
    told = [message.text for message in worked.requests[2].messages if message.role == "user"]
    assert told[1:] == [REMINDER, CUT_OFF]
    assert worked.changed == SOLVED
    assert worked.result.trajectory.steps[0].input == "Let me think."


def test_a_refusal_or_too_many_commands_end_it(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(bubblewrap, task, reply(text="No.", finish=Finish.REFUSED))
    assert (worked.result.finished, worked.result.ending) == (False, "The model refused to go on.")
    worked = work(bubblewrap, task, reply(*[run("ls")] * 33))
    assert worked.result.ending == "The model asked for 33 actions at once; 32 are the most."


def test_steps_and_seconds_are_limited(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(bubblewrap, task, SOLVE, run("ls"), limits=replace(LIMITS, steps=2))
    assert (worked.result.finished, worked.result.ending) == (False, "The limit of 2 steps was reached.")
    assert worked.changed == SOLVED
    worked = work(bubblewrap, task, SOLVE, run("sleep 20"), SUBMIT, limits=replace(LIMITS, seconds=1.5))
    assert worked.result.ending == "The limit of 1.5 seconds was reached."
    assert worked.observations[1].startswith("Stopped after 1")
    assert len(worked.requests) == 2


def test_the_oldest_observations_give_way_to_new_ones(bubblewrap: Sandbox, task: AgentTask) -> None:
    limits = replace(LIMITS, context_tokens=14_000, max_output_tokens=1000, observation_chars=9000)
    worked = work(bubblewrap, task, *[run("seq 1 2000") for _ in range(5)], SUBMIT, limits=limits)
    last = [message.text for message in worked.requests[-1].messages if message.role == "tool"]
    kept = [text.startswith("Exit code 0.\n1\n2\n") for text in last]
    assert (len(last), kept[0], kept[-1], last[0]) == (5, False, True, LEFT_OUT)
    assert kept == sorted(kept)
    assert all(observation.startswith("Exit code 0.\n1\n2\n") for observation in worked.observations[:5])


def test_a_conversation_that_cannot_be_shortened_ends(bubblewrap: Sandbox, task: AgentTask) -> None:
    limits = replace(LIMITS, context_tokens=4000, max_output_tokens=1000)
    worked = work(bubblewrap, task, SOLVE, run("seq 1 5000"), SUBMIT, limits=limits)
    assert (worked.result.ending, len(worked.requests)) == (OUT_OF_CONTEXT, 2)

    def refuse(step: int) -> None:
        if step == 2:
            raise OutOfContextError("Lower the size.")

    worked = work(bubblewrap, task, SOLVE, SUBMIT, before=refuse)
    assert worked.result.ending == "The conversation grew longer than the model reads. Lower the size."
    assert worked.changed == SOLVED


def test_what_the_caller_raises_and_a_cancel_leave_no_box(each_sandbox: Sandbox, task: AgentTask) -> None:
    def fail(step: int) -> None:
        raise ConnectionError("lost")

    with pytest.raises(ConnectionError, match="lost"):
        work(each_sandbox, task, SOLVE, before=fail)
    asked: list[float] = []
    with pytest.raises(RunCancelledError):
        work(
            each_sandbox,
            task,
            run("sleep 60"),
            SUBMIT,
            cancelled=lambda: bool(asked) and time.monotonic() > asked[0] + 1,
            before=lambda _: asked.append(time.monotonic()),
        )
    assert time.monotonic() - asked[0] < 6
    assert leftovers(LABEL) == []


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("cat a.py", Action.READ),
        ("cd src && sed -n 1,20p a.py", Action.READ),
        ("cat a.py > b.py", Action.EDIT),
        ("sed -i s/a/b/ a.py", Action.EDIT),
        ("python - <<E\nopen('a', 'w').write('x')\nE", Action.EDIT),
        ("python a.py 2>/dev/null", Action.RUN),
        ("ls", Action.RUN),
        (" submit\n", Action.FINISH),
        ("echo submit", Action.RUN),
    ],
)
def test_actions_are_sorted_by_the_look_of_their_command(command: str, action: Action) -> None:
    assert action_of(command) is action
