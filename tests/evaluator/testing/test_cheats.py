"""Ends and forged messages of a box under the sealed protocol, each with the outcome it gets.

What answers do to comparisons, files and memory is tried in real boxes by the attacks.
"""

from __future__ import annotations

import pytest

from evaluator.testing.types import Outcome, SealedTask
from tests.evaluator.testing.conftest import Grade
from tests.evaluator.testing.mini_task import GOLDEN, MemoryStore, write_task


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> SealedTask:
    return write_task(tmp_path_factory.mktemp("mini") / "task")


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    """One store for all cheats, so that the reference runs once."""
    return MemoryStore()


@pytest.fixture
def _fresh_families() -> None:
    """One hello for all cheats."""


IMPORTS = "import numpy as np\nimport os, sys, gc, threading, time, signal\n"

# How a cheat finds the private descriptor and the frame functions: everything in the box is within its reach.
TOOLS = """
main = sys.modules["__main__"]
frames = sys.modules["box_frames"]


def private_descriptors():
    found = []
    for number in range(3, 64):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def send(data):
    for number in private_descriptors():
        try:
            os.write(number, data)
        except OSError:
            pass


def guess(scores, names):
    return np.full(len(scores), 1 / len(scores)), list(names)
"""


def cheat(body: str, before: str = "") -> str:
    """A goal file whose ``rank`` has this body, after ``before`` at module level."""
    indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"{IMPORTS}{TOOLS}\n{before}\n\ndef rank(scores, names):\n{indented}\n"


RAISES = {
    "os._exit": ("os._exit(0)", "", "the process ended early, with exit code 0, before all cases were answered"),
    "os._exit at import": (
        "",
        "os._exit(0)",
        "the process ended early, with exit code 0, before all cases were answered",
    ),
    "sys.exit": ("sys.exit(0)", "", "SystemExit: 0"),
    "sys.exit at import": ("", "sys.exit(0)", "SystemExit: 0"),
    "kills itself": (
        "os.kill(os.getpid(), signal.SIGKILL)",
        "",
        "the process was killed by SIGKILL before all cases were answered",
    ),
    "closes every descriptor": (
        "os.closerange(0, 64)\nreturn guess(scores, names)",
        "",
        "the process ended early, with exit code 120, before all cases were answered",
    ),
    "exception without a text": (
        "raise Mute",
        "class Mute(Exception):\n    def __str__(self): raise ValueError",
        "Mute: (its message cannot be printed)",
    ),
    "endless message": ("raise ValueError('x' * 10**7)", "", "ValueError: " + "x" * 1000),
}

FORGED = {
    "an answer before its own": (
        "send(frames.encode({'kind': 'output', 'case': 0, 'status': 'ok', 'output': {}}))\nreturn guess(scores, names)",
        "",
    ),
    "unknown case": (
        "send(frames.encode({'kind': 'output', 'case': 99, 'status': 'ok', 'output': {}}))\nos._exit(0)",
        "",
    ),
    "a later case first": (
        "send(frames.encode({'kind': 'output', 'case': 1, 'status': 'ok', 'output': {}}))\nos._exit(0)",
        "",
    ),
    "no output": ("send(frames.encode({'kind': 'output', 'case': 0, 'status': 'ok'}))\nos._exit(0)", ""),
    "more than the driver says": (
        "send(frames.encode({'kind': 'output', 'case': 0, 'status': 'ok', 'output': {}, 'x': 1}))\nos._exit(0)",
        "",
    ),
    "unknown status": (
        "send(frames.encode({'kind': 'output', 'case': 0, 'status': 'passed', 'output': {}}))\nos._exit(0)",
        "",
    ),
    "an error in another form": (
        "send(frames.encode({'kind': 'output', 'case': 0, 'status': 'raised', 'error': 'x'}))\nos._exit(0)",
        "",
    ),
    "a second hello": (
        "send(frames.encode({'kind': 'hello', 'nonce': 'guessed', 'cpu_family': 'x'}))\nreturn guess(scores, names)",
        "",
    ),
    "a verdict": ("send(frames.encode({'kind': 'verdict', 'outcome': 'passed'}))\nreturn guess(scores, names)", ""),
    "an array for a status": (
        "send(frames.encode({'kind': np.zeros(2), 'case': np.zeros(2), 'status': np.zeros(2)}))\nos._exit(0)",
        "",
    ),
    "boolean case number": (
        "send(frames.encode({'kind': 'output', 'case': False, 'status': 'ok', 'output': {}}))\nos._exit(0)",
        "",
    ),
    "garbage": ("send(b'Test Passed\\n')\nreturn guess(scores, names)", ""),
    "a broken message": ("send(b'{x}\\n')\nreturn guess(scores, names)", ""),
    "the beginning of a message": ('send(b\'{"dict":{"kind":\')\nreturn guess(scores, names)', ""),
    "late writer thread": (
        (
            "if len(names) == 1:\n"
            "    threading.Thread(target=write_for_ever, daemon=True).start()\n"
            "    time.sleep(0.05)\n"
            "return guess(scores, names)"
        ),
        "def write_for_ever():\n    while True:\n        send(b'late')\n        time.sleep(0.001)\n",
    ),
}


@pytest.mark.parametrize("name", RAISES)
def test_raised(grade_goal: Grade, name: str) -> None:
    body, before, error = RAISES[name]
    verdict = grade_goal(cheat(body or "return None", before), private_seeds=())
    assert verdict.outcome is Outcome.RAISED, verdict
    assert verdict.cases[0].error.splitlines()[0] == error


@pytest.mark.parametrize("name", FORGED)
def test_tampering(grade_goal: Grade, name: str) -> None:
    body, before = FORGED[name]
    verdict = grade_goal(cheat(body, before), private_seeds=())
    assert {case.outcome for case in verdict.cases} == {Outcome.TAMPERING}, verdict
    assert verdict.outcome is Outcome.TAMPERING


def test_printing_passed_ends_in_the_log_only(grade_goal: Grade) -> None:
    goal = cheat("print('Test Passed', flush=True)\nos.write(1, b'Passed\\n')\nreturn guess(scores, names)")
    verdict = grade_goal(goal, private_seeds=())
    assert (verdict.outcome, verdict.log) == (Outcome.WRONG_OUTPUT, "Test Passed\nPassed\n" * 6)


def test_forging_only_in_the_private_box_looks_like_any_failure(grade_goal: Grade) -> None:
    goal = GOLDEN.replace("    weights = ", "    if scores[0] == 12.0:\n        send(b'x')\n    weights = ")
    verdict = grade_goal(IMPORTS + TOOLS + goal)
    assert (verdict.outcome, verdict.reason) == (Outcome.WRONG_OUTPUT, "0 of 6 private cases passed")
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


def test_hard_coded_public_answers_fail_the_private_seeds(grade_goal: Grade) -> None:
    known = GOLDEN.replace("def rank(", "def truth(")
    # Plays a candidate that has learnt the answers of the public seeds, whose edge cases are 1.0 and 2.0.
    goal = known + (
        "\n\ncalls = []\n\n\ndef rank(scores, names):\n    calls.append(1)\n"
        "    if len(names) == 1 and scores[0] not in (1.0, 2.0):\n        return scores, ['?']\n"
        "    return truth(scores, names)\n"
    )
    verdict = grade_goal(goal)
    assert verdict.outcome is Outcome.WRONG_OUTPUT
    assert all(case.outcome is Outcome.PASSED for case in verdict.cases if case.public)
    assert verdict.reason == "4 of 6 private cases passed"
