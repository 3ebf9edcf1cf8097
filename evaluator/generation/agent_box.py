"""Run an agent's commands in its box and receive their output and the changed files. All of that is untrusted.

A box that dies, stops answering or breaks its driver's protocol ends the agent's work. Only what fails before the
driver is ready is an infrastructure error.
"""

from __future__ import annotations

import queue
import secrets
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from evaluator.generation.agent_workspace import LENT_TOOLS, shell_mounts
from evaluator.sandbox.interface import BoxSpec, Ending, Feed, Limits, Mount, SandboxError
from evaluator.testing import box
from evaluator.testing.box import frames
from evaluator.testing.logs import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from evaluator.generation.agent_workspace import Workspace
    from evaluator.sandbox.interface import BoxResult, Sandbox

MEBIBYTE: Final = 1024 * 1024
START_SECONDS: Final = 120.0
ANSWER_SECONDS: Final = 60.0
"""How much longer than a command's own time the driver may take to answer."""
GOODBYE_SECONDS: Final = 3.0
_TICK_SECONDS: Final = 0.5
_OUTPUT_BYTES: Final = 256 * MEBIBYTE
_LARGEST_FILE: Final = 256 * MEBIBYTE
_FILES: Final = Path(box.__file__).parent
_DRIVER: Final = ("agent_driver.py", "frames.py")
_TRIED = (
    "curl",
    "file",
    "gcc",
    "git",
    "jq",
    "less",
    "make",
    "perl",
    "pip",
    "pytest",
    "python",
    "rg",
    "tar",
    "tree",
    "vi",
)
_LOOKED_FOR: Final = sorted({*LENT_TOOLS.split(), *_TRIED})
"""Programs that the prompt lists as present or missing: the usual ones, and others that models often try."""
_MOST_PACKAGES: Final = 80
_LONGEST_NAME: Final = 60
_FOREIGN: Final = "something in the box wrote what its driver does not write"


class Conversation:
    """The worker's end of a conversation with a box: a :class:`~evaluator.sandbox.interface.Dialogue` of frames."""

    def __init__(self, take: Callable[[bytes], None], broken: Callable[[], None]) -> None:
        """Pass every whole message to ``take``; call ``broken`` once when the bytes are no valid frame."""
        self.feed = Feed()
        self._take = take
        self._broken = broken
        self._rest = bytearray()
        self._is_broken = False

    def received(self, data: bytes) -> None:
        """Process the next bytes of stdout."""
        if self._is_broken:
            return
        self._rest += data
        try:
            if b"\n" in data:
                lines, rest = frames.split(bytes(self._rest))
                self._rest = bytearray(rest)
                for line in lines:
                    self._take(line)
            if not frames.begins_frame(bytes(self._rest[:10])):
                raise frames.FrameError("these bytes do not begin a message")  # noqa: TRY301 - as those that decoding meets
        except frames.FrameError:
            self._is_broken = True
            self._broken()


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """Limits of one answer: turns, seconds in total and per command, characters per observation.

    ``memory_bytes`` is what commands may use at once, ``disk_bytes`` what may be written besides the copies of
    repository and paper. The conversation is kept below ``context_tokens`` minus ``max_output_tokens``.
    """

    steps: int = 40
    seconds: float = 3600.0
    command_seconds: float = 60.0
    observation_chars: int = 20_000
    memory_bytes: int = 1024 * MEBIBYTE
    disk_bytes: int = 256 * MEBIBYTE
    processes: int = 128
    context_tokens: int = 128_000
    max_output_tokens: int = 8192


class BoxGoneError(Exception):
    """The box has ended or no longer answers. The message gives the reason, for users."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How the agent's repository differs from the masked one: new contents, deleted paths, and refused changes with
    their reasons.
    """

    changed: Mapping[str, bytes] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Tools:
    """What commands find in a box, as reported before any of them ran: Python, its packages, and known programs."""

    python: str = ""
    packages: tuple[tuple[str, str], ...] = ()
    programs: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Self:
        """Read the driver's ready message. Raises BoxGoneError for any other form."""
        try:
            packages = tuple((_named(name), _named(version)) for name, version in message["packages"])
            return cls(_named(message["python"]), packages, tuple(map(_named, message["programs"])))
        except (KeyError, TypeError, ValueError):
            raise BoxGoneError(_FOREIGN) from None

    def in_words(self) -> str:
        """Return a line or two for the model."""
        packages = [" ".join(package) for package in self.packages[:_MOST_PACKAGES]]
        packages += ["others"] if len(self.packages) > _MOST_PACKAGES else []
        python = f"- Python {self.python} with {', '.join(packages) or 'its standard library alone'}.\n"
        missing = [name for name in _LOOKED_FOR if name not in self.programs]
        absent = f" Not there: {', '.join(missing)}." if missing else ""
        return f"{python if self.python else ''}- The programs {', '.join(sorted(self.programs))}.{absent}"


class AgentBox:
    """One agent's box, as a context manager: it runs from enter to exit, and is always killed at the end.

    ``changes`` are those after the last command, ``tools`` what commands find.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        workspace: Workspace,
        limits: AgentLimits,
        *,
        environment: str,
        label: str,
        cancelled: Callable[[], bool],
    ) -> None:
        """Create the box, not yet running. ``cancelled`` is called twice a second, from another thread."""
        self.changes, self.tools = Changes(), Tools()
        self._sandbox, self._limits, self._cancelled = sandbox, limits, cancelled
        self._nonce = secrets.token_hex(16)
        lends_shell = sandbox.name != "docker"  # an image has a shell of its own, for a libc of its own
        self._spec = BoxSpec(
            label=label,
            argv=("python", "/box/agent_driver.py", self._nonce),
            mounts=(
                *(Mount(_FILES / name, f"/box/{name}") for name in _DRIVER),
                *(shell_mounts() if lends_shell else ()),
                *workspace.mounts,
            ),
            limits=_box_limits(limits, workspace),
            environment=environment,
        )
        self._inbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._side = Conversation(self._inbox.put, lambda: self._inbox.put(None))
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=label)
        self._box: Future[BoxResult] | None = None
        self._dismissed = False
        self._number = 0

    def __enter__(self) -> Self:
        self._box = self._thread.submit(
            self._sandbox.run,
            self._spec,
            cancelled=lambda: self._dismissed or self._cancelled(),
            dialogue=self._side,
        )
        self._box.add_done_callback(lambda _: self._inbox.put(None))
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._side.feed.end()
        if self._box is not None:
            wait([self._box], GOODBYE_SECONDS)
        self._dismissed = True
        self._thread.shutdown()
        self._side.feed.close()

    def run(self, command: str, seconds: float) -> str:
        """Run a shell command, update ``changes``, and return the observation for the model.

        Raises :class:`BoxGoneError`, ``RunCancelledError``, and ``SandboxError`` for infrastructure errors.
        """
        self._number += 1
        try:
            request = frames.encode({"id": self._number, "command": command, "seconds": seconds})
        except frames.FrameError as error:
            return f"Error: {error}"
        self._side.feed.send(request)
        answer = self._next(seconds + ANSWER_SECONDS)
        if answer.get("id") != self._number:
            raise BoxGoneError("something in the box answered in its driver's place")
        if "changed" in answer:
            self.changes = _changes(answer)
        return self._observation(answer, seconds)

    def _observation(self, answer: Mapping[str, Any], seconds: float) -> str:
        code, output = answer.get("code"), answer.get("output")
        if answer.get("timed_out") is True:
            head = f"Stopped after {seconds:g} seconds."
        elif not isinstance(code, int):
            head = "Error: the command could not be run."
        else:
            head = f"Exit code {code}." if code >= 0 else f"Killed by signal {-code}."
        printed = clean_text(output).rstrip() if isinstance(output, str) else ""
        # The driver cuts the output itself; a foreign process that answers in its place may not.
        limit = self._limits.observation_chars + 500
        return f"{head}\n{printed[:limit]}" if printed else f"{head} Nothing was printed."

    def _begin(self) -> None:
        """Wait for the driver's hello and the copies. No agent code has run yet: failures are infrastructure errors."""
        try:
            wrong = self._greet()
        except BoxGoneError as gone:
            wrong = str(gone)
        if wrong:
            ended = self._box is not None and self._box.done() and not self._box.exception()
            stderr = self._box.result().stderr[-1000:] if ended and self._box is not None else b""
            text = " ".join(clean_text(stderr.decode("utf-8", "replace")).split()) or "nothing"
            raise SandboxError(
                f"the agent's box {self._spec.label} did not begin: {wrong}. Its stderr ends with: {text}"
            )

    def _greet(self) -> str:
        """Return what is wrong with the driver's first messages, or an empty string."""
        hello = self._next(START_SECONDS)
        if hello.get("kind") != "hello" or hello.get("nonce") != self._nonce:
            return "its first message was not a hello"
        if hello.get("shell") is not True:
            return f"the environment {self._spec.environment!r} has no shell (sh)"
        job = {
            "output_bytes": self._limits.observation_chars,
            "process_bytes": self._limits.memory_bytes * 3 // 4,
            "programs": _LOOKED_FOR,
        }
        self._side.feed.send(frames.encode(job))
        ready = self._next(START_SECONDS)
        if ready.get("kind") != "ready":
            return "it was not ready"
        self.tools = Tools.of(ready)
        return ""

    def _next(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            try:
                frame = self._inbox.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                if time.monotonic() > deadline:
                    raise BoxGoneError("the box no longer answered") from None
                continue
            if frame is None:
                raise BoxGoneError(self._why_gone())
            try:
                message: Any = frames.decode(frame)
            except frames.FrameError:
                raise BoxGoneError(_FOREIGN) from None
            if not isinstance(message, dict):
                raise BoxGoneError(_FOREIGN)
            return message

    def _why_gone(self) -> str:
        """Describe how the box ended. Raises what running it raised."""
        assert self._box is not None  # noqa: S101 - it was entered
        if not wait([self._box], GOODBYE_SECONDS).done:
            return _FOREIGN
        result = self._box.result()
        limits = self._spec.limits
        return {
            Ending.EXITED: f"its first program ended (exit code {result.exit_code})",
            Ending.SIGNALLED: f"its first program was killed (signal {result.signal})",
            Ending.WALL_TIMEOUT: f"the box was stopped after {limits.wall_seconds:g} seconds",
            Ending.CPU_TIMEOUT: f"the box used more than {limits.cpu_seconds} seconds of processor time",
            Ending.OUT_OF_MEMORY: f"the box used more than {limits.memory_bytes // MEBIBYTE} MB of memory",
            Ending.OUTPUT_LIMIT: f"the box sent more than {limits.output_bytes // MEBIBYTE} MB",
        }[result.ending]


def _named(text: object) -> str:
    """Return a name or a version that a box reports, in one line. Raises TypeError."""
    if not isinstance(text, str):
        raise TypeError
    return " ".join(clean_text(text).split())[:_LONGEST_NAME]


def _changes(answer: Mapping[str, Any]) -> Changes:
    """Return the changes in a driver's answer. Raises :class:`BoxGoneError` for any form but the driver's."""
    try:
        changed = dict(answer["changed"])
        deleted, refused = tuple(answer["deleted"]), tuple((path, why) for path, why in answer["refused"])
    except (KeyError, TypeError, ValueError):
        raise BoxGoneError(_FOREIGN) from None
    texts = [*changed, *deleted, *(text for pair in refused for text in pair)]
    contents_are_bytes = all(
        isinstance(content, np.ndarray) and content.dtype == np.uint8 for content in changed.values()
    )
    if not contents_are_bytes or not all(isinstance(text, str) for text in texts):
        raise BoxGoneError(_FOREIGN)
    return Changes(
        changed={path: content.tobytes() for path, content in sorted(changed.items())},
        deleted=deleted,
        refused=tuple((clean_text(path), clean_text(why)) for path, why in refused),
    )


def _box_limits(limits: AgentLimits, workspace: Workspace) -> Limits:
    disk = workspace.size + limits.disk_bytes
    return Limits(
        # The box also lives while it starts, repeats commands after an interruption, and waits for the model.
        wall_seconds=2 * limits.seconds + START_SECONDS,
        cpu_seconds=int(2 * limits.seconds + START_SECONDS),
        memory_bytes=limits.memory_bytes + disk,
        processes=limits.processes,
        tmpfs_bytes=disk,
        tmpfs_files=workspace.entries + 8192,
        file_bytes=max(_LARGEST_FILE, workspace.largest),
        open_files=1024,
        output_bytes=_OUTPUT_BYTES,
    )
