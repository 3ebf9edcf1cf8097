"""Attacks on the machine: take all of it, or never give it back."""

from __future__ import annotations

from typing import Final

from evaluator.sandbox.types import Limits
from tests.attacks.corpus.kinds import AnswerAttack, Attack, Expected, Group, ProgramAttack, Way, ends
from tests.attacks.corpus.library import answer

SHORT_SECONDS: Final = 3.0
_SOON: Final = Limits(wall_seconds=SHORT_SECONDS, cpu_seconds=20)
_LATE: Final = ends("timeout", says="stopped after 3 seconds")
_WRONG: Final = ends("wrong_output")

_FILL = """
def fill(place, size, number):
    for index in range(number):
        with open(f"{place}/{index}", "wb") as file:
            file.write(bytes(size))
"""

_HOARD = """
def hoard(number, size):
    told, tell = os.pipe()
    children = []
    for _ in range(number):
        pid = os.fork()
        if pid == 0:
            kept = b"x" * size
            os.write(tell, b"x")
            time.sleep(600)
        children.append(pid)
    os.set_blocking(told, False)
    holding = dead = 0
    while holding + dead < number:
        dead += os.waitpid(-1, os.WNOHANG)[0] > 0
        try:
            holding += len(os.read(told, number))
        except BlockingIOError:
            time.sleep(0.01)
    for pid in children:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    if not dead:
        escaped("the memory limit")
"""


def _attack(name: str, body: str, expected: Expected, *, before: str = "", wall_seconds: float = 20.0) -> AnswerAttack:
    source = answer(body, before)
    return AnswerAttack(name, Group.RESOURCES, {Way.SEALED: expected}, source=source, wall_seconds=wall_seconds)


def _program(name: str, code: str, ending: str, limits: Limits, stdin_bytes: int = 0) -> ProgramAttack:
    return ProgramAttack(
        name, Group.RESOURCES, {Way.BOX: ends(ending)}, code=code, limits=limits, stdin_bytes=stdin_bytes
    )


RESOURCES: Final[tuple[Attack, ...]] = (
    _attack(
        "fork bomb",
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        _LATE,
        wall_seconds=SHORT_SECONDS,
    ),
    _attack("sleep", "time.sleep(600)", _LATE, wall_seconds=SHORT_SECONDS),
    _attack(
        "ignored signals",
        (
            "for number in set(range(1, 65)) - {9, 19, 32, 33}:\n"
            "    signal.signal(number, signal.SIG_IGN)\n"
            "time.sleep(600)"
        ),
        _LATE,
        wall_seconds=SHORT_SECONDS,
    ),
    _attack(
        "SIGSTOP",
        "if os.fork() == 0:\n    os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(600)",
        _LATE,
        wall_seconds=SHORT_SECONDS,
    ),
    _attack("closed stdout", "os.closerange(0, 256)\ntime.sleep(600)", _LATE, wall_seconds=SHORT_SECONDS),
    _attack(
        "memory bomb", "return len(b'x' * 700_000_000)", ends("out_of_memory", says="used more than 256 MiB of memory")
    ),
    _attack(
        "memory bomb in children",
        "if once():\n    hoard(20, 40_000_000)\nreturn guess(scores, names)",
        # Where the kernel kills the children alone, the answer itself is judged.
        ends("out_of_memory", "wrong_output"),
        before=_HOARD,
    ),
    _attack(
        "deep recursion",
        "sys.setrecursionlimit(2**31 - 1)\n\ndef deeper(n):\n    return [deeper(n + 1)]\n\nreturn deeper(0)",
        ends("out_of_memory", "raised"),
    ),
    _attack(
        "full /tmp",
        "fill('/tmp', 20_000_000, 9)\nreturn scores, names",
        ends("raised", says="No space left on device"),
        before=_FILL,
    ),
    _attack(
        "full /dev/shm",
        "fill('/dev/shm', 5_000_000, 20)\nreturn scores, names",
        ends("raised", says="No space left on device"),
        before=_FILL,
    ),
    _attack(
        "inodes",
        "fill('/tmp', 0, 10_000_000)\nreturn scores, names",
        # bubblewrap can only bound the memory and the time that they take (SANDBOX, "Settings: bwrap").
        ends("raised", "out_of_memory", "timeout"),
        before=_FILL,
        wall_seconds=4.0,
    ),
    _attack(
        "large file",
        "open('/tmp/large', 'wb').write(bytes(50_000_000))\nreturn scores, names",
        ends("raised", says="File too large"),
    ),
    _program(
        "stdout flood",
        "import os\nwhile True:\n    os.write(1, bytes(65536))",
        "output_limit",
        Limits(wall_seconds=20.0, cpu_seconds=20),
    ),
    _attack(
        "frame flood",
        "frames = b'{}\\n' * 1000\nwhile True:\n    send(frames)",
        ends("tampering", "output_limit"),
    ),
    _attack("stderr flood", "os.write(2, b'x' * 5_000_000)\nreturn guess(scores, names)", _WRONG),
    _program(
        "busy loop",
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
        "cpu_timeout",
        Limits(wall_seconds=30.0, cpu_seconds=1),
    ),
    _attack(
        "threads",
        "while True:\n    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        ends("raised", says="can't start new thread"),
    ),
    _attack(
        "zombies",
        "while True:\n    if os.fork() == 0:\n        os._exit(0)",
        ends("raised", says="Resource temporarily unavailable"),
    ),
    _attack(
        "open files",
        "kept = [open('/dev/null') for _ in range(100_000)]\nreturn kept",
        ends("raised", says="Too many open files"),
    ),
    _attack(
        "daemon",
        (
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    if os.fork() == 0:\n"
            "        os.closerange(0, 256)\n"
            "        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', MARK])\n"
            "    os._exit(0)\n"
            "return guess(scores, names)"
        ),
        _WRONG,
    ),
    _program(
        "unread input",
        "import sys\nsys.stdout.write('x' * 4_000_000)",
        "exited",
        Limits(wall_seconds=20.0, cpu_seconds=20),
        stdin_bytes=4_000_000,
    ),
    _attack("segmentation fault", "ctypes.string_at(0)", ends("raised", says="killed by SIGSEGV")),
)
