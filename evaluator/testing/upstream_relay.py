"""Carries calls from a unit test's box to the answer's box and results back; nothing else gets through.

The two alternate strictly: a result is taken only while its call is open, once, with the call's number and the server's
fields. Anything else from the answer's box is tampering, and ends both. Results are looked at on the way: what fools
many a comparison does not reach the test where the reference never returns it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from evaluator.sandbox.types import Feed
from evaluator.testing.box import frames
from evaluator.testing.upstream_results import REFUSED, peculiarities

if TYPE_CHECKING:
    from collections.abc import Callable

_FIELDS = {
    "returned": {"id", "kind", "parcel", "changes"},
    "raised": {"id", "kind", "type", "message", "traceback"},
    "unsupported": {"id", "kind", "error"},
}


class Side:
    """One box's end of the conversation: a :class:`~evaluator.sandbox.types.Dialogue` that cuts stdout into frames."""

    def __init__(self, take: Callable[[bytes], None], broken: Callable[[], None]) -> None:
        """``take`` is given every whole frame; ``broken`` is called once when bytes come that are none."""
        self.feed = Feed()
        self._take = take
        self._broken = broken
        self._bytes = bytearray()
        self._is_broken = False

    def received(self, data: bytes) -> None:
        """Take in the next bytes of stdout."""
        if self._is_broken:
            return
        self._bytes += data
        try:
            size = frames.frame_size(bytes(self._bytes[:16]))
            while size is not None and len(self._bytes) >= size:
                frame = bytes(self._bytes[:size])
                del self._bytes[:size]
                self._take(frame)
                size = frames.frame_size(bytes(self._bytes[:16]))
        except frames.FrameError:
            self._is_broken = True
            self._broken()


class Relay:
    """The conversation of one test with one answer. ``test`` and ``goal`` are the dialogues of their boxes."""

    def __init__(self, *, copies_back: bool, allowed: frozenset[str] | None) -> None:
        """Args:
        copies_back: whether changes of arguments reach the test.
        allowed: what of ``upstream_results.REFUSED`` results may hold; None for everything, as the reference may.
        """
        self.test = Side(self._from_test, self._stop)
        self.goal = Side(self._from_goal, self._tamper)
        self.stopped = threading.Event()
        self.tampering = False
        self.lost = False
        self.changed_arguments = False
        self.returned: set[str] = set()
        self._copies_back = copies_back
        self._allowed = allowed
        self._lock = threading.RLock()
        self._open: int | None = None
        self._arguments: list[Any] = []
        self._calls = 0
        self._greeted = {"test": False, "goal": False}
        self._goal_ended = False

    def test_has_ended(self) -> None:
        """No more calls will come; the answer's box may go."""
        with self._lock:
            self._open = None
            self.goal.feed.end()

    def goal_has_ended(self) -> None:
        """No more results will come; a test that waits for one is stopped."""
        with self._lock:
            self._goal_ended = True
            if self._open is not None:
                self._lose()

    def close(self) -> None:
        """Give the descriptors back."""
        self.test.feed.close()
        self.goal.feed.close()

    def _from_test(self, frame: bytes) -> None:
        message: Any = frames.decode(frame)
        with self._lock:
            if not self._greeted["test"]:
                self._greeted["test"] = True
            elif message["kind"] == "call":
                self._open = self._calls
                self._calls += 1
                self._arguments = message["parcel"]["things"]
                if self._goal_ended:
                    self._lose()
                else:
                    self.goal.feed.send(frame)

    def _from_goal(self, frame: bytes) -> None:
        message: Any = frames.decode(frame)
        with self._lock:
            if not self._greeted["goal"]:
                self._greeted["goal"] = True
            elif self._open is None or not _is_answer(message, self._open):
                self._tamper()
            else:
                self._open = None
                self.test.feed.send(frames.encode(self._seen(message)))

    def _seen(self, message: dict[str, Any]) -> dict[str, Any]:
        """The result as it may go on."""
        if message["kind"] != "returned":
            return message
        self.changed_arguments = self.changed_arguments or bool(message["changes"])
        found = peculiarities(message["parcel"], message["changes"], self._arguments)
        self.returned |= found
        refused = found - self._allowed if self._allowed is not None else set()
        if refused:
            return {"id": message["id"], "kind": "unsupported", "error": REFUSED[min(refused)]}
        return message if self._copies_back else {**message, "changes": []}

    def _tamper(self) -> None:
        self.tampering = True
        self._stop()

    def _lose(self) -> None:
        self.lost = True
        self._stop()

    def _stop(self) -> None:
        self.stopped.set()


def _is_answer(message: Any, number: int) -> bool:
    """Whether this is a result of call ``number`` in the server's form; what its parcel holds is read in the test."""
    if not isinstance(message, dict) or type(message.get("id")) is not int or message["id"] != number:
        return False
    kind = message.get("kind")
    if not isinstance(kind, str) or set(message) != _FIELDS.get(kind):
        return False
    if kind == "returned":
        return isinstance(message["parcel"], dict) and isinstance(message["changes"], list)
    if kind == "raised":
        lines = message["traceback"]
        texts = isinstance(message["type"], str) and isinstance(message["message"], str)
        return texts and isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    return isinstance(message["error"], str)
