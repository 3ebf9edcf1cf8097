"""Code that hostile answers share, put at the top of each goal file.

An answer logs one line per try: ``attack: held WHAT (why)`` or ``attack: ESCAPED WHAT``. The constants ``MARK``,
``HOST_PORT``, ``HOST_SOCKET``, ``HOST_FILE`` and ``HOST_VARIABLE`` (see ``Bait``) precede it.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Final

from evaluator.auditing.canary_round import ESCAPED, GOLDEN_BODY, HELD, SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRYING: Final = f'''
import ctypes, errno, fcntl, gc, mmap, os, pickle, resource, signal, socket, struct, subprocess, sys, threading, time

import numpy as np


def held(what, why=""):
    print(f"{HELD}{{what}} ({{why}})", flush=True)


def escaped(what, how=""):
    print(f"{ESCAPED}{{what}} {{how!r:.80}}", flush=True)


def attempt(what, action, *arguments):
    """Try it: an error is a wall that held, anything else an escape."""
    try:
        result = action(*arguments)
    except (OSError, subprocess.SubprocessError) as error:
        held(what, errno.errorcode.get(getattr(error, "errno", None), type(error).__name__))
    else:
        escaped(what, result)


_libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """A system call by its name, for the machines whose numbers are known here; elsewhere it counts as refused."""
    number = NUMBERS.get(os.uname().machine, {{}}).get(name)
    if number is None:
        raise OSError(errno.ENOSYS, name)
    if _libc.syscall(ctypes.c_long(number), *[ctypes.c_long(argument) for argument in arguments]) < 0:
        raise OSError(ctypes.get_errno(), name)
    return "done"


NUMBERS = {{
    "x86_64": {{
        "mount": 165, "umount2": 166, "pivot_root": 155, "unshare": 272, "setns": 308, "clone": 56, "ptrace": 101,
        "keyctl": 250, "add_key": 248, "bpf": 321, "io_uring_setup": 425, "userfaultfd": 323, "perf_event_open": 298,
        "kexec_load": 246, "process_vm_readv": 310, "open_by_handle_at": 304, "init_module": 175, "swapon": 167,
        "reboot": 169, "settimeofday": 164, "sethostname": 170, "socket": 41, "fadvise64": 221, "preadv2": 327,
        "mincore": 27, "cachestat": 451, "flock": 73, "io_setup": 206, "inotify_init1": 294, "fanotify_init": 300,
        "prctl": 157, "seccomp": 317,
    }},
    "aarch64": {{
        "mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97, "setns": 268, "clone": 220, "ptrace": 117,
        "keyctl": 219, "add_key": 217, "bpf": 280, "io_uring_setup": 425, "userfaultfd": 282, "perf_event_open": 241,
        "kexec_load": 104, "process_vm_readv": 270, "open_by_handle_at": 265, "init_module": 105, "swapon": 224,
        "reboot": 142, "settimeofday": 170, "sethostname": 161, "socket": 198, "fadvise64": 223, "preadv2": 286,
        "mincore": 232, "cachestat": 451, "flock": 32, "io_setup": 0, "inotify_init1": 26, "fanotify_init": 262,
        "prctl": 167, "seccomp": 277,
    }},
}}


def guess(scores, names):
    """A wrong answer in the right form."""
    return np.full(len(scores), 1 / len(scores)), list(names)


def truth(scores, names):
{GOLDEN_BODY.replace("shift(scores)", "scores - scores.max()")}

main = sys.modules["__main__"]


def descriptors():
    """Every open descriptor but the three that everybody has."""
    found = []
    for number in range(3, 64):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def send(data):
    """Write to all of them: one is what the driver answers on."""
    for number in descriptors():
        try:
            os.write(number, data)
        except OSError:
            pass


def frame(**message):
    frames = sys.modules.get("box_frames")
    return frames.encode(message) if frames else b"{{}}"


def fill(place, size, number):
    for index in range(number):
        with open(f"{{place}}/{{index}}", "wb") as file:
            file.write(bytes(size))


_tried = []


def once():
    """Whether this is the first call; a box is asked many times."""
    _tried.append(True)
    return len(_tried) == 1
'''


def answer(body: str, before: str = "") -> str:
    """A goal file whose ``rank`` has this body, after ``before`` at module level."""
    indented = "".join(f"    {line}\n" if line else "\n" for line in body.strip().splitlines())
    return f"{_TRYING}\n{before.strip()}\n\n\n{SIGNATURE}{indented}"


def tries(*lines: str, before: str = "") -> str:
    """A goal file whose first call makes these tries, one per statement, and that answers wrongly."""
    body = "".join(f"    {line}\n" for text in lines for line in text.splitlines())
    return answer(f"if once():\n{body}return guess(scores, names)", before)


def honest(before: str) -> str:
    """A right goal file with ``before`` at module level."""
    return answer("return truth(scores, names)", before)


def read(text: str) -> Iterator[tuple[str, str, list[str], str, float]]:
    """Yield name, source, outcomes, part of the reason, and seconds of each attack in a text.

    Each begins with a line ``name | outcomes | part of the reason | seconds``. Indented below it follow code at module
    level and ``---``, if any, and the function's body.
    """
    for head, code in re.findall(r"^(\S.*)\n((?:(?: +.*)?\n)+)", text, re.MULTILINE):
        name, outcomes, reason_part, seconds = (*(part.strip() for part in head.split("|")), "", "")[:4]
        *before, body = textwrap.dedent(code).split("\n---\n")
        yield name, answer(body, "".join(before)), outcomes.split(), reason_part, float(seconds or 20)
