"""Run a trusted function on foreign bytes in a child process with hard limits: a hostile file costs one child."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from submissions.scratch import scratch_folder

logger = logging.getLogger(__name__)

_ROOT = Path(__file__).resolve().parents[1]
_START = (
    "import sys, importlib; sys.path.insert(0, sys.argv[1]); importlib.import_module(sys.argv[2]).serve(*sys.argv[3:])"
)
_MEGABYTE: Final = 1024 * 1024
_CHUNK: Final = 256 * 1024
_LONGEST_COMPLAINT: Final = 16 * 1024
_AT: Final = "at: "
_SHOWN_PLACE: Final = 200


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What the child may use: bytes of address space, seconds of processor time and by the clock, bytes of answer.

    It may write no file, unless ``file_bytes`` says how long one may be; its temporary folder goes with it.
    """

    memory_bytes: int = 1024 * _MEGABYTE
    cpu_seconds: int = 60
    wall_seconds: float = 90.0
    answer_bytes: int = 16 * _MEGABYTE
    file_bytes: int = 0
    open_files: int = 16


class ChildError(Exception):
    """The child used up a limit, or died. ``late`` names the time that it took too much of, if that was it.

    ``place`` is what :func:`say_place` named last.
    """

    def __init__(self, *, late: str = "", place: str = "") -> None:
        super().__init__(f"took more than {late}" if late else "died")
        self.late = late
        self.place = place


def ask(module: str, given: bytes | IO[bytes], limits: ChildLimits) -> Any:
    """What ``module.serve(limits)`` answers to ``given`` on its standard input, as parsed JSON. Raises ChildError."""
    return json.loads(ask_for_bytes(module, given, limits))


def ask_for_bytes(module: str, given: bytes | IO[bytes], limits: ChildLimits, *, scratch: Path | None = None) -> bytes:
    """The same as it was written. The child's temporary folder lies below ``scratch``."""
    command = [sys.executable, "-I", "-c", _START, str(_ROOT), module, json.dumps(dataclasses.asdict(limits))]
    with scratch_folder(scratch, prefix="lmr-child-") as folder, tempfile.TemporaryFile() as stored:
        if isinstance(given, bytes):
            stored.write(given)
            stored.seek(0)
        process = subprocess.Popen(
            command,
            stdin=stored if isinstance(given, bytes) else given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath), "TMPDIR": str(folder)},
            cwd="/",
            start_new_session=True,
        )
        with process:
            try:
                return _collect(process, limits)
            finally:
                if process.returncode is None:
                    # The whole group: git may be at work below it.
                    os.killpg(process.pid, signal.SIGKILL)


def _collect(process: subprocess.Popen[bytes], limits: ChildLimits) -> bytes:
    """Everything the child wrote, once it ended well; raises ChildError when it did not."""
    deadline = time.monotonic() + limits.wall_seconds
    answer, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for kept, pipe in ((answer, process.stdout), (complaint, process.stderr)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, kept)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise ChildError(late=f"{limits.wall_seconds:g} seconds", place=_place_in(complaint))
            for key, _ in selector.select(left):
                piece = os.read(key.fd, _CHUNK)
                if not piece:
                    selector.unregister(key.fileobj)
                key.data.extend(piece)
            del complaint[:-_LONGEST_COMPLAINT]
            if len(answer) > limits.answer_bytes:
                raise ChildError(place=_place_in(complaint))
    code = process.wait()  # it has closed its output, and has nothing left to do
    if code == -signal.SIGXCPU:
        raise ChildError(late=f"{limits.cpu_seconds} seconds of processor time", place=_place_in(complaint))
    if code != 0:
        logger.warning("A limited child ended with %s: %s", code, complaint[-2000:].decode("utf-8", "replace"))
        raise ChildError(place=_place_in(complaint))
    return bytes(answer)


def _place_in(complaint: bytearray) -> str:
    lines = complaint.decode("utf-8", "replace").splitlines()
    place = next((line.removeprefix(_AT) for line in reversed(lines) if line.startswith(_AT)), "")
    return "".join(c if c.isprintable() else "?" for c in place)[:_SHOWN_PLACE]


def say_place(place: str) -> None:
    """In the child: what it is at now, for a :class:`ChildError`."""
    sys.stderr.write(f"{_AT}{place}\n")
    sys.stderr.flush()


def answer(limits_text: str, act: Callable[[bytes], Any]) -> None:
    """The child's part: limit this process, give ``act`` what came in, write what it returns, as JSON unless bytes.

    Import what ``act`` needs before: the limits close the way to more files.
    """
    limits = ChildLimits(**json.loads(limits_text))
    os.nice(10)  # page requests come first
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    # The hard limit is a second later: at it the kernel kills without saying why.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
    found = act(sys.stdin.buffer.read())
    sys.stdout.buffer.write(found if isinstance(found, bytes) else json.dumps(found).encode())
    sys.stdout.flush()
