"""The conversation with the driver in an agent's box. Everything that comes out of there is foreign.

What arrives is bounded by the sandbox's limits and looked at before it is used. A box that dies, falls silent or says
what its driver never says ends the agent's work; only what happens before the driver's hello is a fault of ours.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from evaluator.generation.agent_types import MEBIBYTE
from evaluator.generation.agent_workspace import shell_mounts
from evaluator.sandbox.types import BoxSpec, Ending, Limits, Mount, SandboxError
from evaluator.testing import box
from evaluator.testing.box import frames
from evaluator.testing.logs import clean_text
from evaluator.testing.upstream_relay import Side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evaluator.generation.agent_types import AgentLimits
    from evaluator.generation.agent_workspace import Workspace
    from evaluator.sandbox.types import BoxResult, Sandbox

START_SECONDS: Final = 120.0
ANSWER_SECONDS: Final = 60.0
"""How long the driver may take for anything but a command, and beyond a command's time."""
GOODBYE_SECONDS: Final = 3.0
_TICK_SECONDS: Final = 0.5
_OUTPUT_BYTES: Final = 256 * MEBIBYTE
_LARGEST_FILE: Final = 256 * MEBIBYTE
_FILES: Final = Path(box.__file__).parent
_DRIVER: Final = ("agent_driver.py", "agent_changes.py", "agent_files.py", "frames.py")


_FOREIGN: Final = "something in the box wrote what its driver does not write"


class BoxGoneError(Exception):
    """The box has ended, or can no longer be talked with. The message says why, for people."""


class ActionError(Exception):
    """What was asked of the driver could not be done. The message is for the model."""


class AgentBox:
    """One agent's box, as a context: it runs from enter to exit, and is killed whatever happens in between."""

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
        """``cancelled`` is asked twice a second, from another thread."""
        self._limits = limits
        self._nonce = secrets.token_hex(16)
        lends_shell = sandbox.name != "docker"  # an image has a shell of its own, for a libc of its own
        mounts = (
            *(Mount(_FILES / name, f"/box/{name}") for name in _DRIVER),
            *(shell_mounts() if lends_shell else ()),
            *workspace.mounts,
        )
        self._spec = BoxSpec(
            label=label,
            argv=("python", "/box/agent_driver.py", self._nonce),
            mounts=mounts,
            limits=_box_limits(limits, workspace),
            environment=environment,
        )
        self._inbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._side = Side(self._inbox.put, lambda: self._inbox.put(None))
        self._runner = _Runner(sandbox, self._spec, self._side, self._inbox, cancelled)
        self._number = 0

    def __enter__(self) -> Self:
        self._runner.start()
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._side.feed.end()
        self._runner.leave()
        self._side.feed.close()

    def ask(self, do: str, *, seconds: float = ANSWER_SECONDS, **arguments: object) -> dict[str, Any]:
        """The driver's answer to one request, see ``agent_driver.py``.

        Raises :class:`ActionError`, :class:`BoxGoneError`, ``RunCancelledError``, and ``SandboxError`` for faults of
        ours.
        """
        self._number += 1
        try:
            request = frames.encode({"id": self._number, "do": do, **arguments})
        except frames.FrameError as error:
            raise ActionError(str(error)) from None
        self._side.feed.send(request)
        answer = self._next(seconds)
        if answer.get("id") != self._number:
            raise BoxGoneError("something in the box answered in its driver's place")
        wrong = answer.get("error")
        if isinstance(wrong, str):
            raise ActionError(clean_text(wrong)[:1000])
        return answer

    def _begin(self) -> None:
        """Wait for the hello and the copies. Until the driver is ready no agent's code can run: faults are ours."""
        try:
            wrong = self._greet()
        except BoxGoneError as gone:
            wrong = str(gone)
        if wrong:
            said = self._runner.stderr_tail() or "nothing"
            raise SandboxError(
                f"the agent's box {self._spec.label} did not begin: {wrong}. Its stderr ends with: {said}"
            )

    def _greet(self) -> str:
        """What is wrong with the driver's first words, or an empty text."""
        hello = self._next(START_SECONDS)
        if hello.get("kind") != "hello" or hello.get("nonce") != self._nonce:
            return "its first words were no hello"
        if hello.get("shell") is not True:
            return f"the environment {self._spec.environment!r} has no shell (sh)"
        characters = self._limits.observation_chars
        job = {"output_bytes": characters, "text_characters": characters}
        self._side.feed.send(frames.encode({**job, "process_bytes": self._limits.memory_bytes * 3 // 4}))
        return "" if self._next(START_SECONDS).get("kind") == "ready" else "it was not ready"

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
                raise self._runner.why_gone()
            return _message(frame)


def _message(frame: bytes) -> dict[str, Any]:
    try:
        message: Any = frames.decode(frame)
    except frames.FrameError:
        raise BoxGoneError(_FOREIGN) from None
    if not isinstance(message, dict):
        raise BoxGoneError(_FOREIGN)
    return message


class _Runner(threading.Thread):
    """Runs the box beside the conversation."""

    def __init__(
        self,
        sandbox: Sandbox,
        spec: BoxSpec,
        side: Side,
        inbox: queue.SimpleQueue[bytes | None],
        cancelled: Callable[[], bool],
    ) -> None:
        super().__init__(name=spec.label, daemon=True)
        self._sandbox, self._spec, self._side = sandbox, spec, side
        self._inbox, self._cancelled = inbox, cancelled
        self._dismissed = threading.Event()
        self._result: BoxResult | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        """The thread's work."""
        try:
            self._result = self._sandbox.run(
                self._spec,
                cancelled=lambda: self._dismissed.is_set() or self._cancelled(),
                dialogue=self._side,
            )
        except Exception as error:  # noqa: BLE001 - raised again where the box is talked with
            self._error = error
        finally:
            self._inbox.put(None)

    def leave(self) -> None:
        """Wait for the box's end, and after a while bring it about."""
        self.join(GOODBYE_SECONDS)
        self._dismissed.set()
        self.join()

    def why_gone(self) -> Exception:
        """What to raise when the conversation has broken off."""
        self.join(GOODBYE_SECONDS)
        if self._error is not None:
            return self._error
        if self._result is None:
            return BoxGoneError(_FOREIGN)
        return BoxGoneError(_ending_text(self._result, self._spec))

    def stderr_tail(self) -> str:
        """The end of what the box said beside the conversation, on one line."""
        said = self._result.stderr[-1000:] if self._result else b""
        return " ".join(clean_text(said.decode("utf-8", "replace")).split())


def changed_files(known: Mapping[str, bytes], news: Mapping[str, Any]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The changed files (path to content) after ``news`` of the driver's, where ``known`` were before, and the deleted.

    Raises :class:`BoxGoneError` for news in another form than the driver's.
    """
    changed = news.get("changed")
    if not isinstance(changed, list):
        raise BoxGoneError(_FOREIGN)
    restored, deleted = set(_texts(news.get("restored"))), _texts(news.get("deleted"))
    files = {path: content for path, content in known.items() if path not in restored}
    for pair in changed:
        path, content = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        if not isinstance(path, str) or not isinstance(content, np.ndarray) or content.dtype != np.uint8:
            raise BoxGoneError(_FOREIGN)
        files[path] = content.tobytes()
    return files, deleted


def refused_files(news: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Path and reason of the changes that the driver did not take. Raises :class:`BoxGoneError` as above."""
    refused = news.get("refused")
    pairs = [_texts(pair) for pair in refused] if isinstance(refused, list) else [()]
    if not all(len(pair) == 2 for pair in pairs):
        raise BoxGoneError(_FOREIGN)
    return tuple((clean_text(pair[0]), clean_text(pair[1])) for pair in pairs)


def _texts(value: object) -> tuple[str, ...]:
    texts = tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
    if not isinstance(value, list) or len(texts) != len(value):
        raise BoxGoneError(_FOREIGN)
    return texts


def _box_limits(limits: AgentLimits, workspace: Workspace) -> Limits:
    disk = workspace.size + limits.disk_bytes
    return Limits(
        # Starting, repeating stored steps and waiting for the model are part of the box's life.
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


def _ending_text(result: BoxResult, spec: BoxSpec) -> str:
    """How the box ended, in words."""
    if result.ending is Ending.EXITED:
        return f"its first program ended (exit code {result.exit_code})"
    return {
        Ending.SIGNALLED: f"its first program was killed (signal {result.signal})",
        Ending.WALL_TIMEOUT: f"the box was stopped after {spec.limits.wall_seconds:g} seconds",
        Ending.CPU_TIMEOUT: f"the box used more than {spec.limits.cpu_seconds} seconds of processor time",
        Ending.OUT_OF_MEMORY: f"the box used more than {spec.limits.memory_bytes // MEBIBYTE} MB of memory",
        Ending.OUTPUT_LIMIT: f"the box sent more than {spec.limits.output_bytes // MEBIBYTE} MB",
    }[result.ending]
