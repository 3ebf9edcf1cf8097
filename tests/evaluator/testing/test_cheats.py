"""Ends and forged messages of a box under the sealed protocol, each with its outcome.

The attacks try in real boxes what answers can do to comparisons, files and memory.
"""

from __future__ import annotations

import pytest

from evaluator.outcomes import Outcome
from evaluator.testing.golden import GoldenFolder
from evaluator.testing.verdicts import SealedTask
from tests.evaluator.testing.conftest import Grade
from tests.evaluator.testing.mini_task import GOLDEN, write_task


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> SealedTask:
    return write_task(tmp_path_factory.mktemp("mini") / "task")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GoldenFolder:
    """One store for all cheats, so that the reference runs once."""
    return GoldenFolder(tmp_path_factory.mktemp("golden"))


@pytest.fixture
def _fresh_families() -> None:
    """One hello for all cheats."""


IMPORTS = "import numpy as np\nimport os, sys, gc, threading, time, signal\n"

# How a cheat finds the private descriptor and the frame functions: it can reach everything in the box.
TOOLS = """
main = sys.modules["__main__"]
frames = sys.modules["box_frames"]


def send(data):
    for number in range(3, 64):
        try:
            os.write(number, data)
        except OSError:
            pass


def guess(scores, names):
    return np.full(len(scores), 1 / len(scores)), list(names)
"""


def cheat(body: str) -> str:
    """A goal file whose ``rank`` has this body."""
    return f"{IMPORTS}{TOOLS}\n\ndef rank(scores, names):\n" + "".join(f"    {line}\n" for line in body.splitlines())


RAISES = {
    "kills itself": (
        "os.kill(os.getpid(), signal.SIGKILL)",
        "the process was killed by SIGKILL before all cases were answered",
    ),
    "closes every descriptor": (
        "os.closerange(0, 64)\nreturn guess(scores, names)",
        "the process ended early, with exit code 120, before all cases were answered",
    ),
    "exception without a text": (
        "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
        "Mute: (its message cannot be printed)",
    ),
    "endless message": ("raise ValueError('x' * 10**7)", "ValueError: " + "x" * 1000),
}
OUTPUT = "send(frames.encode({'kind': 'output', 'case': %s, 'status': 'ok'%s}))\nos._exit(0)"
GUESS = "\nreturn guess(scores, names)"
FORGED = {
    "an answer before its own": "send(frames.encode({'kind': 'output', 'case': 0, 'status': 'ok', 'output': {}}))"
    + GUESS,
    "unknown case": OUTPUT % (99, ", 'output': {}"),
    "boolean case number": OUTPUT % (False, ", 'output': {}"),
    "no output": OUTPUT % (0, ""),
    "more than the driver sends": OUTPUT % (0, ", 'output': {}, 'passed': True"),
    "an array for a status": (
        "send(frames.encode({'kind': np.zeros(2), 'case': np.zeros(2), 'status': np.zeros(2)}))\nos._exit(0)"
    ),
    "a second hello": "send(frames.encode({'kind': 'hello', 'nonce': 'guessed', 'cpu_family': 'x'}))" + GUESS,
    "garbage": "send(b'Test Passed\\n')" + GUESS,
    "the beginning of a message": 'send(b\'{"dict":{"kind":\')' + GUESS,
}


@pytest.mark.parametrize("name", RAISES)
def test_raised(grade_goal: Grade, name: str) -> None:
    body, error = RAISES[name]
    verdict = grade_goal(cheat(body), private_seeds=())
    assert verdict.outcome is Outcome.RAISED, verdict
    assert verdict.cases[0].error.splitlines()[0] == error


@pytest.mark.parametrize("name", FORGED)
def test_tampering(grade_goal: Grade, name: str) -> None:
    verdict = grade_goal(cheat(FORGED[name]), private_seeds=())
    assert {case.outcome for case in verdict.cases} == {Outcome.TAMPERING}, verdict
    assert verdict.outcome is Outcome.TAMPERING


def test_forging_only_in_the_private_box_looks_like_any_failure(grade_goal: Grade) -> None:
    goal = GOLDEN.replace("    weights = ", "    if scores[0] == 12.0:\n        send(b'x')\n    weights = ")
    verdict = grade_goal(IMPORTS + TOOLS + goal)
    assert (verdict.outcome, verdict.reason) == (Outcome.WRONG_OUTPUT, "0 of 6 private test cases passed")
    assert {case.outcome for case in verdict.cases if not case.public} == {Outcome.TAMPERING}
    assert {case.error for case in verdict.cases} == {""}


def test_exit_hooks_never_run(grade_goal: Grade) -> None:
    hook = "import atexit\natexit.register(lambda: send(b'late'))\n"
    assert grade_goal(IMPORTS + TOOLS + hook + GOLDEN).outcome is Outcome.PASSED


def test_threads_that_never_end_do_not_hold_the_box(grade_goal: Grade) -> None:
    thread = "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
    verdict = grade_goal(IMPORTS + thread + GOLDEN)
    assert verdict.outcome is Outcome.PASSED
    assert verdict.seconds < 10
