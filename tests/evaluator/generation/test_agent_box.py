"""What an agent's commands cannot do to its box, and what happens to those that end it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.generation import agent_box
from evaluator.generation.agent_workspace import AgentTask
from evaluator.sandbox.types import BoxResult, BoxSpec, Dialogue, Ending, Sandbox, SandboxError
from evaluator.testing.box import frames
from tests.evaluator.generation.agent_runs import GOLDEN, LABEL, LIMITS, SOLVE, SUBMIT, make_task, run, work
from tests.evaluator.sandbox.boxes import leftovers
from tests.evaluator.testing.unconfined import UnconfinedSandbox

SOLVED = {"ranking/goal.py": GOLDEN.encode()}
FOREIGN = "something in the box wrote what its driver does not write"
COUNTS = " What it held after the last complete step counts."


@pytest.fixture
def task(tmp_path: Path) -> AgentTask:
    return make_task(tmp_path)


def test_hostile_commands_end_and_the_work_goes_on(each_sandbox: Sandbox, task: AgentTask) -> None:
    worked = work(
        each_sandbox,
        task,
        run("echo begin; while true; do echo y; done"),
        run("(sleep 1000 &) ; sleep 1000 & echo started"),
        run("b() { b | b & }; b; sleep 60"),
        run("cat; python -c 'x = b\"1\" * (400 << 20)'"),
        run("cat /dev/zero > ../fill"),
        run('rm ../fill; python -c \'import os\nfor i in range(3000): os.mkdir("d"); os.chdir("d")\''),
        SOLVE,
        run("for p in /proc/[0-9]*; do for n in 0 1 2 3 4 5 6; do echo {} > $p/fd/$n; done; done"),
        run("python -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'"),
        run("ls /proc | grep -c '^[0-9]'"),
        SUBMIT,
        limits=replace(LIMITS, command_seconds=3.0),
    )
    seen = worked.observations
    assert seen[0].startswith("Stopped after 3 seconds.\nbegin\ny\ny")
    assert len(seen[0]) < LIMITS.observation_chars + 100
    assert "bytes left out" in seen[0]
    assert seen[1] == "Exit code 0.\nstarted"
    assert seen[2].startswith("Stopped after 3 seconds.")
    assert seen[3].endswith("MemoryError")
    # The disk is full, and so there is no room for what is printed either.
    assert seen[4] == "Exit code 1. Nothing was printed."
    assert seen[5:7] == ["Exit code 0. Nothing was printed."] * 2
    assert "unreachable" in seen[8]
    # The first process, its child, and the command's three: nothing of the earlier commands is left.
    assert int(seen[9].split()[-1]) <= 5
    assert (worked.changed, worked.result.ending) == (SOLVED, "The model finished.")
    assert leftovers(LABEL) == []


def test_a_driver_that_is_killed_ends_the_work_with_what_there_was(each_sandbox: Sandbox, task: AgentTask) -> None:
    worked = work(each_sandbox, task, SOLVE, run("rm README.md; kill -9 $PPID"), SUBMIT)
    result = worked.result
    assert (worked.changed, result.changes.deleted, result.finished) == (SOLVED, (), False)
    why = "its first program was killed (signal 9)"
    assert result.ending == f"The agent's box is gone: {why}.{COUNTS}"
    assert worked.observations[-1] == f"Error: the box is gone: {why}"
    assert leftovers(LABEL) == []


@pytest.mark.bubblewrap
def test_a_box_that_is_out_of_memory_ends_the_work(bubblewrap: Sandbox, task: AgentTask) -> None:
    many = "for i in 1 2 3 4; do python -c 'x = b\"1\" * (150 << 20); import time; time.sleep(5)' & done; wait"
    worked = work(bubblewrap, task, SOLVE, run(many), SUBMIT)
    assert worked.changed == SOLVED
    assert worked.result.ending == f"The agent's box is gone: the box used more than 288 MB of memory.{COUNTS}"


@pytest.mark.bubblewrap
def test_a_driver_that_is_stopped_is_not_waited_for(
    bubblewrap: Sandbox, task: AgentTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_box, "ANSWER_SECONDS", 1.0)
    limits = replace(LIMITS, command_seconds=2.0)
    worked = work(bubblewrap, task, SOLVE, run("kill -STOP $PPID"), SUBMIT, limits=limits)
    assert worked.result.ending.startswith("The agent's box is gone: the box no longer answered.")
    assert worked.changed == SOLVED
    assert leftovers(LABEL) == []


@pytest.mark.bubblewrap
def test_links_large_files_and_a_repository_that_is_gone(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(
        bubblewrap,
        task,
        run("rm -rf ../repository"),
        run("pwd; mkdir ranking; echo x > ranking/goal.py; ln -s /etc/passwd link; head -c 2000000 /dev/zero > a.py"),
        SUBMIT,
    )
    assert worked.observations[1].startswith("Exit code 0.\n")
    assert worked.changed == {"ranking/goal.py": b"x\n"}
    assert worked.result.changes.deleted == ("README.md", "ranking/helpers.py", "tests/test_goal.py")
    assert worked.result.changes.refused == (("a.py", "is larger than 1024 KB"), ("link", "is a link or special file"))


class ForgingSandbox(UnconfinedSandbox):
    """A box in which somebody else speaks in the driver's place: after hello and ready, ``answers``, one a command."""

    def __init__(self, *answers: bytes, hello: dict[str, object] | None = None) -> None:
        super().__init__()
        self._answers = list(answers)
        self._hello = hello or {}

    def run(
        self, spec: BoxSpec, *, cancelled: Callable[[], bool] = lambda: False, dialogue: Dialogue | None = None
    ) -> BoxResult:
        assert dialogue is not None
        hello = {"kind": "hello", "nonce": spec.argv[2], "shell": True} | self._hello
        dialogue.received(frames.encode(hello))
        answers = [frames.encode({"kind": "ready"}), *self._answers]
        while not cancelled():
            data, ended = dialogue.feed.take()
            if data and answers:
                dialogue.received(answers.pop(0))
            if ended:
                break
            time.sleep(0.01)
        return BoxResult(Ending.EXITED, 0, None, b"", b"", False, 1.0, None)


def news(**changed: Any) -> bytes:
    """An answer to the first command with changes."""
    return frames.encode({"id": 1, "code": 0, "changed": [], "deleted": [], "refused": []} | changed)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"garbage", FOREIGN),
        (frames.encode([1]), FOREIGN),
        (frames.encode({"id": 2, "code": 0}), "something in the box answered in its driver's place"),
        (frames.encode({"code": 0}), "something in the box answered in its driver's place"),
        (news(changed=None), FOREIGN),
        (news(changed=[["a"]]), FOREIGN),
        (news(changed=[[1, np.zeros(1, dtype=np.uint8)]]), FOREIGN),
        (news(changed=[[["a"], np.zeros(1, dtype=np.uint8)]]), FOREIGN),
        (news(changed=[["a", np.zeros(1)]]), FOREIGN),
        (news(changed=[["a", "text"]]), FOREIGN),
        (news(deleted=["a", 1]), FOREIGN),
        (news(refused=[["a", 1]]), FOREIGN),
        (news(refused=[["a", "b", "c"]]), FOREIGN),
    ],
)
def test_what_the_driver_never_writes_ends_the_work(task: AgentTask, answer: bytes, why: str) -> None:
    worked = work(ForgingSandbox(answer), task, run("ls"), SUBMIT)
    assert worked.result.ending == f"The agent's box is gone: {why}.{COUNTS}"
    assert (worked.observations, worked.changed) == ([f"Error: the box is gone: {why}"], {})


def test_answers_of_odd_types_harm_nobody(task: AgentTask) -> None:
    data = np.frombuffer(b"new", dtype=np.uint8)
    sandbox = ForgingSandbox(
        news(code="x", output=5, timed_out="no", changed=[["a", data]], refused=[["c", "why\x00"]]),
        frames.encode({"id": 2, "code": 1, "output": "x" * 100_000 + "\0"}),
    )
    worked = work(sandbox, task, run("a"), run("b"), SUBMIT)
    assert worked.observations[0] == "Error: the command could not be run. Nothing was printed."
    assert len(worked.observations[1]) <= LIMITS.observation_chars + 600
    assert (worked.changed, worked.result.changes.refused) == ({"a": b"new"}, (("c", "why"),))


@pytest.mark.parametrize(
    ("sandbox", "why"),
    [
        (ForgingSandbox(hello={"nonce": "other"}), "its first words were no hello"),
        (ForgingSandbox(hello={"shell": False}), r"the environment 'numpy' has no shell \(sh\)"),
        (
            UnconfinedSandbox(python="/bin/false"),
            r"agent-test-\d+ did not begin: its first program ended \(exit code \d+\)",
        ),
    ],
)
def test_a_box_that_does_not_begin_is_an_infrastructure_error(task: AgentTask, sandbox: Sandbox, why: str) -> None:
    with pytest.raises(SandboxError, match=why):
        work(sandbox, task, SUBMIT)


@pytest.mark.bubblewrap
def test_a_missing_environment_is_an_infrastructure_error(bubblewrap: Sandbox, task: AgentTask) -> None:
    with pytest.raises(SandboxError, match="nowhere"):
        work(bubblewrap, replace(task, environment="nowhere"), SUBMIT)
