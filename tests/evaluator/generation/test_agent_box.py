"""What an agent's commands cannot do to its box, and what happens to those that end it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.generation import agent_tools
from evaluator.generation.agent_box import BoxGoneError, changed_files, refused_files
from evaluator.generation.agent_types import AgentTask
from evaluator.sandbox.types import BoxResult, BoxSpec, Dialogue, Ending, Sandbox, SandboxError
from evaluator.testing.box import frames
from tests.evaluator.generation.agent_runs import FINISH, GOLDEN, LABEL, LIMITS, SOLVE, edit, make_task, read, run, work
from tests.evaluator.sandbox.boxes import leftovers
from tests.evaluator.testing.unconfined import UnconfinedSandbox

SOLVED = {"ranking/goal.py": GOLDEN.encode()}
COUNT = "ls /proc | grep -c '^[0-9]'"


@pytest.fixture
def task(tmp_path: Path) -> AgentTask:
    return make_task(tmp_path)


@pytest.fixture
def box_sandbox(each_sandbox: Sandbox) -> Iterator[Sandbox]:
    """Each sandbox, in which no box is left afterwards."""
    yield each_sandbox
    assert leftovers(LABEL) == []


def test_hostile_commands_end_and_the_work_goes_on(box_sandbox: Sandbox, task: AgentTask) -> None:
    worked = work(
        box_sandbox,
        task,
        run("sleep 60", 1),
        run("echo begin; while true; do echo y; done", 1),
        run("(sleep 1000 &) ; sleep 1000 & echo started"),
        run("b() { b | b & }; b; sleep 60", 2),
        run("python -c 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'", 2),
        run("cat; python -c 'x = b\"1\" * (400 << 20)'"),
        run("cat /dev/zero > ../fill"),
        SOLVE,
        run('rm ../fill; python -c \'import os\nfor i in range(3000): os.mkdir("d"); os.chdir("d")\''),
        SOLVE,
        run("for p in /proc/[0-9]*; do for n in 0 1 2 3 4 5 6; do echo LMRF > $p/fd/$n; done; done", 5),
        run("python -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'"),
        run(COUNT),
        FINISH,
        limits=replace(LIMITS, seconds=300.0),
    )
    seen = worked.observations
    assert seen[0] == "Stopped after 1 seconds. Nothing was printed."
    assert seen[1].startswith("Stopped after 1 seconds.\nbegin\ny\ny")
    assert len(seen[1]) < LIMITS.observation_chars + 100
    assert "bytes left out" in seen[1]
    assert seen[2] == "Exit code 0. Stopped what it left running (2).\nstarted"
    assert "Cannot fork" in seen[3]
    assert seen[4].startswith("Stopped after 2 seconds.")
    assert seen[5].endswith("MemoryError")
    assert seen[6] == "Exit code 1.\ncat: write error: No space left on device"
    assert seen[7] == "Error: No space left on device"
    assert seen[8:10] == ["Exit code 0. Nothing was printed.", "Edited from line 10: 1 line replaced by 1 line."]
    assert "unreachable" in seen[11]
    # The first process, its child, and the command's three.
    assert int(seen[12].split()[-1]) <= 5
    assert worked.result.changed == SOLVED
    assert worked.result.ending == "The model finished."


def test_a_driver_that_is_killed_ends_the_work_with_what_there_was(box_sandbox: Sandbox, task: AgentTask) -> None:
    worked = work(box_sandbox, task, SOLVE, run("rm README.md; kill -9 $PPID"), FINISH)
    result = worked.result
    assert (result.changed, result.deleted, result.finished) == (SOLVED, (), False)
    assert result.ending == (
        "The agent's box is gone: its first program was killed (signal 9). "
        "What it held after the last complete step counts."
    )
    assert worked.observations[-1] == "Error: the box is gone: its first program was killed (signal 9)"
    assert len(result.trajectory.steps) == 2
    again = work(box_sandbox, task, replay=worked.steps)
    assert (again.script.asked, again.result) == ([], result)


@pytest.mark.bubblewrap
def test_a_box_that_is_out_of_memory_ends_the_work(bubblewrap: Sandbox, task: AgentTask) -> None:
    many = "for i in 1 2 3 4; do python -c 'x = b\"1\" * (150 << 20); import time; time.sleep(5)' & done; wait"
    worked = work(bubblewrap, task, SOLVE, run(many), FINISH)
    assert worked.result.changed == SOLVED
    assert worked.result.ending == (
        "The agent's box is gone: the box used more than 288 MB of memory. "
        "What it held after the last complete step counts."
    )


@pytest.mark.bubblewrap
def test_a_driver_that_is_stopped_is_not_waited_for(
    bubblewrap: Sandbox, task: AgentTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_tools, "ANSWER_SECONDS", 1.0)
    worked = work(bubblewrap, task, SOLVE, run("kill -STOP $PPID", 1), FINISH)
    assert worked.result.ending.startswith("The agent's box is gone: the box no longer answered.")
    assert worked.result.changed == SOLVED
    assert leftovers(LABEL) == []


@pytest.mark.bubblewrap
def test_links_large_files_and_a_repository_that_is_gone(bubblewrap: Sandbox, task: AgentTask) -> None:
    worked = work(
        bubblewrap,
        task,
        run("ln -s /etc/passwd link; head -c 2000000 /dev/zero > large.py; rm -rf ranking/helpers.py"),
        run("rm -rf ../repository"),
        run("pwd"),
        edit("ranking/goal.py", "", GOLDEN),
        run("ln -s /etc/passwd link"),
        FINISH,
    )
    assert worked.observations[2].startswith("Exit code 0.\n")
    assert worked.result.changed == SOLVED
    assert worked.result.deleted == ("README.md", "ranking/helpers.py", "tests/test_goal.py")
    assert worked.result.refused == (("link", "is a link or special file"),)


class ForgingSandbox(UnconfinedSandbox):
    """A box in which somebody else speaks in the driver's place: after hello and ready, ``answers``, one a request."""

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


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"garbage", "something in the box wrote what its driver does not write"),
        (frames.encode([1]), "something in the box wrote what its driver does not write"),
        (b"LMRF" + bytes(12), "something in the box wrote what its driver does not write"),
        (frames.encode({"id": 2, "text": "x"}), "something in the box answered in its driver's place"),
        (frames.encode({"text": "x"}), "something in the box answered in its driver's place"),
    ],
    ids=["garbage", "a list", "an empty frame", "another number", "no number"],
)
def test_what_the_driver_never_writes_ends_the_work(task: AgentTask, answer: bytes, why: str) -> None:
    worked = work(ForgingSandbox(answer), task, read("a"), FINISH)
    assert worked.result.ending == (
        f"The agent's box is gone: {why}. What it held after the last complete step counts."
    )
    assert worked.observations == [f"Error: the box is gone: {why}"]


def test_answers_of_odd_types_harm_nobody(task: AgentTask) -> None:
    odd = {"code": "x", "signal": [], "output": 5, "timed_out": "no", "killed": {}}
    sandbox = ForgingSandbox(
        frames.encode({"id": 1, "text": 5}),
        frames.encode({"id": 2, "text": "x" * 100_000 + "\0"}),
        frames.encode({"id": 3, **odd}),
        frames.encode({"id": 4, "changed": 1}),
    )
    worked = work(sandbox, task, read("a"), read("b"), run("c"), FINISH)
    assert worked.observations == [
        "",
        "x" * 20_000 + "\n[... cut]",
        "Killed by signal []. Nothing was printed.",
    ]
    assert "something in the box wrote" in worked.result.ending


@pytest.mark.parametrize(
    ("hello", "why"),
    [
        ({"nonce": "other"}, "its first words were no hello"),
        ({"shell": False}, r"the environment 'numpy' has no shell \(sh\)"),
    ],
)
def test_a_wrong_hello_is_a_fault_of_ours(task: AgentTask, hello: dict[str, object], why: str) -> None:
    with pytest.raises(SandboxError, match=why):
        work(ForgingSandbox(hello=hello), task, FINISH)


def test_a_box_that_never_says_hello_is_a_fault_of_ours(task: AgentTask) -> None:
    with pytest.raises(SandboxError, match=r"agent-test-\d+ did not begin: its first program ended \(exit code \d+\)"):
        work(UnconfinedSandbox(python="/bin/false"), task, FINISH)


@pytest.mark.bubblewrap
def test_an_environment_that_is_missing_is_a_fault_of_ours(bubblewrap: Sandbox, task: AgentTask) -> None:
    with pytest.raises(SandboxError, match="nowhere"):
        work(bubblewrap, replace(task, environment="nowhere"), FINISH)


def as_news(**changed: Any) -> dict[str, Any]:
    news: dict[str, Any] = {"changed": [], "restored": [], "deleted": [], "refused": []}
    return news | changed


def test_news_are_added_to_what_is_known() -> None:
    data = np.frombuffer(b"new", dtype=np.uint8)
    news = as_news(changed=[["a", data]], restored=["b"], deleted=["b"], refused=[["c", "why\x00"]])
    assert changed_files({"a": b"old", "b": b"b", "d": b"d"}, news) == ({"a": b"new", "d": b"d"}, ("b",))
    assert refused_files(news) == (("c", "why"),)


@pytest.mark.parametrize(
    "wrong",
    [
        {"changed": None},
        {"changed": [["a"]]},
        {"changed": [[1, np.zeros(1, dtype=np.uint8)]]},
        {"changed": [["a", np.zeros(1)]]},
        {"changed": [["a", "text"]]},
        {"restored": ["a", 1]},
        {"restored": None},
        {"deleted": "abc"},
    ],
)
def test_news_in_another_form_are_not_believed(wrong: dict[str, Any]) -> None:
    with pytest.raises(BoxGoneError):
        changed_files({}, as_news(**wrong))


@pytest.mark.parametrize("refused", [None, [["a"]], [["a", 1]], ["ab"], [["a", "b", "c"]]])
def test_reasons_in_another_form_are_not_believed(refused: object) -> None:
    with pytest.raises(BoxGoneError):
        refused_files(as_news(refused=refused))
