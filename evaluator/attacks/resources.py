"""Attacks on the machine: take all of it, or never give it back."""

from __future__ import annotations

from typing import Final

from evaluator.attacks.library import answer
from evaluator.attacks.types import AnswerAttack, Attack, Expected, Group, ProgramAttack, Way, ends
from evaluator.sandbox.types import Limits

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


def _attack(
    name: str, tries: str, body: str, expected: Expected, *, before: str = "", wall_seconds: float = 20.0
) -> AnswerAttack:
    return AnswerAttack(
        name, Group.RESOURCES, tries, {Way.SEALED: expected}, source=answer(body, before), wall_seconds=wall_seconds
    )


def _program(name: str, tries: str, code: str, ending: str, limits: Limits, stdin_bytes: int = 0) -> ProgramAttack:
    return ProgramAttack(
        name, Group.RESOURCES, tries, {Way.BOX: ends(ending)}, code=code, limits=limits, stdin_bytes=stdin_bytes
    )


RESOURCES: Final[tuple[Attack, ...]] = (
    _attack(
        "fork bomb",
        "Forks without end, in every child too.",
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
        _LATE,
        wall_seconds=SHORT_SECONDS,
    ),
    _attack("sleep", "Sleeps past its time.", "time.sleep(600)", _LATE, wall_seconds=SHORT_SECONDS),
    _attack(
        "ignored signals",
        "Ignores every signal that can be ignored, and sleeps.",
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
        "Stops its own parent, so that nobody is left to end it.",
        "if os.fork() == 0:\n    os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(600)",
        _LATE,
        wall_seconds=SHORT_SECONDS,
    ),
    _attack(
        "closed stdout",
        "Closes everything it could say something on, and sleeps.",
        "os.closerange(0, 256)\ntime.sleep(600)",
        _LATE,
        wall_seconds=SHORT_SECONDS,
    ),
    _attack(
        "memory bomb",
        "Takes more memory than it may have.",
        "return len(b'x' * 700_000_000)",
        ends("out_of_memory", says="used more than 256 MiB of memory"),
    ),
    _attack(
        "memory bomb in children",
        "Takes little memory in each of many processes at once.",
        "if once():\n    hoard(20, 40_000_000)\nreturn guess(scores, names)",
        # Where the kernel kills the children alone, the answer itself is judged.
        ends("out_of_memory", "wrong_output"),
        before=_HOARD,
    ),
    _attack(
        "deep recursion",
        "Calls itself until the stack is gone, with Python's own limit taken away.",
        "sys.setrecursionlimit(2**31 - 1)\n\ndef deeper(n):\n    return [deeper(n + 1)]\n\nreturn deeper(0)",
        ends("out_of_memory", "raised"),
    ),
    _attack(
        "full /tmp",
        "Fills its only disk.",
        "fill('/tmp', 20_000_000, 9)\nreturn scores, names",
        ends("raised", says="No space left on device"),
        before=_FILL,
    ),
    _attack(
        "full /dev/shm",
        "Fills the shared memory.",
        "fill('/dev/shm', 5_000_000, 20)\nreturn scores, names",
        ends("raised", says="No space left on device"),
        before=_FILL,
    ),
    _attack(
        "inodes",
        "Makes empty files without end.",
        "fill('/tmp', 0, 10_000_000)\nreturn scores, names",
        # bubblewrap can only bound the memory and the time that they take (SANDBOX, "Settings: bwrap").
        ends("raised", "out_of_memory", "timeout"),
        before=_FILL,
        wall_seconds=4.0,
    ),
    _attack(
        "large file",
        "Writes one file that is larger than any may be.",
        "open('/tmp/large', 'wb').write(bytes(50_000_000))\nreturn scores, names",
        ends("raised", says="File too large"),
    ),
    _program(
        "stdout flood",
        "Writes to its output without end.",
        "import os\nwhile True:\n    os.write(1, bytes(65536))",
        "output_limit",
        Limits(wall_seconds=20.0, cpu_seconds=20),
    ),
    _attack(
        "frame flood",
        "Writes frames without end to where its answers go.",
        "frames = b'{}\\n' * 1000\nwhile True:\n    send(frames)",
        ends("tampering", "output_limit"),
    ),
    _attack(
        "stderr flood",
        "Fills the log.",
        "os.write(2, b'x' * 5_000_000)\nreturn guess(scores, names)",
        _WRONG,
    ),
    _program(
        "busy loop",
        "Computes for nothing, and ignores the warning.",
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass",
        "cpu_timeout",
        Limits(wall_seconds=30.0, cpu_seconds=1),
    ),
    _attack(
        "threads",
        "Starts threads without end.",
        "while True:\n    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        ends("raised", says="can't start new thread"),
    ),
    _attack(
        "zombies",
        "Lets children end and collects none.",
        "while True:\n    if os.fork() == 0:\n        os._exit(0)",
        ends("raised", says="Resource temporarily unavailable"),
    ),
    _attack(
        "open files",
        "Opens files without end.",
        "kept = [open('/dev/null') for _ in range(100_000)]\nreturn kept",
        ends("raised", says="Too many open files"),
    ),
    _attack(
        "daemon",
        "Leaves a process behind that has cut every tie.",
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
        "Never reads the 4 MB that it is sent, and answers as much.",
        "import sys\nsys.stdout.write('x' * 4_000_000)",
        "exited",
        Limits(wall_seconds=20.0, cpu_seconds=20),
        stdin_bytes=4_000_000,
    ),
    _attack(
        "segmentation fault",
        "Reads where no memory is.",
        "ctypes.string_at(0)",
        ends("raised", says="killed by SIGSEGV"),
    ),
)
