"""Work on foreign bytes in a child process with hard limits: what it takes too long for, it does not take with it."""

from __future__ import annotations

import dataclasses
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

_ROOT = Path(__file__).resolve().parents[2]
_START = (
    "import sys, importlib; sys.path.insert(0, sys.argv[1]); importlib.import_module(sys.argv[2]).serve(*sys.argv[3:])"
)
_OPEN_FILES: Final = 16


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What the child may use: bytes of address space, seconds of processor time and by the clock, bytes of answer.

    It may write no file, unless ``file_bytes`` says how long one may be; its temporary folder goes with it.
    """

    memory_bytes: int = 1024 * 1024 * 1024
    cpu_seconds: int = 60
    wall_seconds: float = 90.0
    answer_bytes: int = 16 * 1024 * 1024
    file_bytes: int = 0


class ChildError(Exception):
    """The child used up a limit, or died. ``late`` tells a timeout from the rest."""

    def __init__(self, *, late: bool) -> None:
        super().__init__("too late" if late else "died")
        self.late = late


def ask(module: str, given: bytes | IO[bytes], limits: ChildLimits) -> Any:
    """What ``module.serve(limits)`` answers to ``given`` on its standard input, as parsed JSON. Raises ChildError."""
    command = [sys.executable, "-I", "-c", _START, str(_ROOT), module, json.dumps(dataclasses.asdict(limits))]
    source: dict[str, Any] = {"input": given} if isinstance(given, bytes) else {"stdin": given}
    with tempfile.TemporaryDirectory(prefix="lmr-child-", ignore_cleanup_errors=True) as scratch:
        try:
            done = subprocess.run(
                command,
                **source,
                capture_output=True,
                env={"TMPDIR": scratch},
                cwd="/",
                timeout=limits.wall_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ChildError(late=True) from None
    if done.returncode != 0 or len(done.stdout) > limits.answer_bytes:
        raise ChildError(late=False)
    return json.loads(done.stdout)


def answer(limits_text: str, act: Callable[[bytes], Any]) -> None:
    """The child's part: limit this process, give ``act`` what came in, write what it returns as JSON.

    Import what ``act`` needs before: the limits close the way to more files.
    """
    limits = ChildLimits(**json.loads(limits_text))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    sys.stdout.write(json.dumps(act(sys.stdin.buffer.read())))
    sys.stdout.flush()
