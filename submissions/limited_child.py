"""Run a trusted function on untrusted bytes in a child process with hard limits, so a hostile file costs one child."""

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
    """The child's limits: bytes of address space, seconds of CPU and wall time, bytes of output.

    It may write no files unless ``file_bytes``, the limit of a file's size, is above 0. Its temporary folder is
    removed when it ends.
    """

    memory_bytes: int = 1024 * _MEGABYTE
    cpu_seconds: int = 60
    wall_seconds: float = 90.0
    answer_bytes: int = 16 * _MEGABYTE
    file_bytes: int = 0
    open_files: int = 16


class ChildError(Exception):
    """The child exceeded a limit or failed. ``late`` names the time limit, if it exceeded one.

    ``place`` is the last one that :func:`report_place` reported.
    """

    def __init__(self, *, late: str = "", place: str = "") -> None:
        super().__init__(f"took more than {late}" if late else "died")
        self.late = late
        self.place = place


def call_child(module: str, given: bytes | IO[bytes], limits: ChildLimits) -> Any:
    """Run ``module.serve(limits)`` on the input ``given``; return its output as parsed JSON. Raises ChildError."""
    return json.loads(call_child_raw(module, given, limits))


def call_child_raw(module: str, given: bytes | IO[bytes], limits: ChildLimits, *, scratch: Path | None = None) -> bytes:
    """Do the same, but return the output as bytes. The child's temporary folder is below ``scratch``."""
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
                    # Kill the whole process group: git may be running below the child.
                    os.killpg(process.pid, signal.SIGKILL)


def _collect(process: subprocess.Popen[bytes], limits: ChildLimits) -> bytes:
    """Return everything the child wrote, after it ended normally. Raises ChildError otherwise."""
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
    code = process.wait()  # its output is closed, so it is about to end
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


def report_place(place: str) -> None:
    """Report, from the child, what it works on now; :class:`ChildError` has the last report."""
    sys.stderr.write(f"{_AT}{place}\n")
    sys.stderr.flush()


def serve_child(limits_text: str, act: Callable[[bytes], Any]) -> None:
    """Run the child's side: limit this process, call ``act`` with the input, write its result (JSON unless bytes).

    Import what ``act`` needs beforehand: the limits allow few more open files.
    """
    limits = ChildLimits(**json.loads(limits_text))
    os.nice(10)  # page requests come first
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    # The hard limit is one second later, since there the kernel kills with SIGKILL, which gives no reason.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
    found = act(sys.stdin.buffer.read())
    sys.stdout.buffer.write(found if isinstance(found, bytes) else json.dumps(found).encode())
    sys.stdout.flush()
