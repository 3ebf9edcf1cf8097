"""The first process of a Docker box: loads the call filter, starts the program, and ends as the program ended.

It runs inside the box with the image's Python, which may be an older one, and imports nothing of ours. It stays the
first process in place of the engine's own init, because a process without the filter, run by the same user, would be
a way around it.

Arguments: the filter's file, then the options and arguments of the Python that is started.

It ends with the program's exit code, or with 192 plus the signal that killed it. A container that ends with 137 was
therefore killed from outside, and is never taken for a program that was.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from pathlib import Path

_SET_SECCOMP = 22
_FILTER_MODE = 2
_INSTRUCTION_BYTES = 8
SIGNAL_BASE = 192

_KILLED = 128 + 9
_LAST_CODE = 255


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def load_filter(path: str) -> None:
    """Load the program in the file ``path`` for this process and all that it starts. Raises :class:`OSError`."""
    code = Path(path).read_bytes()
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // _INSTRUCTION_BYTES, ctypes.cast(buffer, ctypes.c_void_p))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the call filter was refused")


def wait_for(child: int) -> int:
    """Wait for ``child`` and, as the box's first process, for every orphan; return what to end with."""
    while True:
        pid, status = os.wait()
        if pid == child:
            if os.WIFSIGNALED(status):
                return min(_LAST_CODE, SIGNAL_BASE + os.WTERMSIG(status))
            code = os.WEXITSTATUS(status)
            return SIGNAL_BASE + 9 if code == _KILLED else code  # so says a shell of a killed program


def main() -> None:
    """See the module's docstring."""
    load_filter(sys.argv[1])
    child = os.fork()
    if child == 0:
        os.setsid()  # the filter refuses signals to this process; a signal to the group of both would reach it
        # gVisor counts processor time only for a process that has set its limit itself.
        resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))
        os.execv(sys.executable, [sys.executable, *sys.argv[2:]])  # noqa: S606
    # Only the program holds the pipes now, so the end of its output is seen even while this process lives.
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    os._exit(wait_for(child))


if __name__ == "__main__":
    main()
