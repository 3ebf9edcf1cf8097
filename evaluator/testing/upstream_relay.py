"""Carries calls from a unit test's box to the answer's box and results back; nothing else gets through.

The two alternate strictly: a result is taken only while its call is open, once, with the call's number and the server's
fields. Anything else from the answer's box is tampering, and ends both. Results are looked at on the way: what fools
many a comparison does not reach the test where the reference never returns it. ``numpy.allclose`` accepts an empty
array, a loop over something empty compares nothing, a NaN is neither more nor less than a tolerance, and a test that
logs what it was given may log the word that it is judged by.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluator.sandbox.types import Feed
from evaluator.testing.box import frames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EMPTY, NAN, WORDS = "empty", "nan", "words"
REFUSED = {
    EMPTY: "the result holds an empty container, where the reference's never does",
    NAN: "the result holds a NaN, where the reference's never does",
    WORDS: "the result holds a word that the test is judged by, where the reference's never does",
}
_CONTAINERS = ("list", "dict", "ordered", "set", "tuple", "frozenset", "size")
_JUDGED_BY = ("Passed", "Failed")
_FIELDS = {
    "returned": {"id", "kind", "payload", "changes"},
    "raised": {"id", "kind", "type", "message", "traceback"},
    "unsupported": {"id", "kind", "error"},
}


class Side:
    """One box's end of the conversation: a :class:`~evaluator.sandbox.types.Dialogue` that cuts messages."""

    def __init__(self, take: Callable[[bytes], None], broken: Callable[[], None]) -> None:
        """``take`` is given every whole message; ``broken`` is called once when bytes come that are none."""
        self.feed = Feed()
        self._take = take
        self._broken = broken
        self._rest = bytearray()
        self._is_broken = False

    def received(self, data: bytes) -> None:
        """Take in the next bytes of stdout."""
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


class Relay:
    """The conversation of one test with one answer. ``test`` and ``goal`` are the dialogues of their boxes."""

    def __init__(self, *, copies_back: bool, allowed: frozenset[str] | None) -> None:
        """Args:
        copies_back: whether changes of arguments reach the test.
        allowed: what of ``REFUSED`` results may hold; None for everything, as the reference may.
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
                self._arguments = message["payload"]["things"]
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
        found = peculiarities(message["payload"], message["changes"], self._arguments)
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
    """Whether this is a result of call ``number`` in the server's form; what its payload holds is read in the test."""
    if not isinstance(message, dict) or type(message.get("id")) is not int or message["id"] != number:
        return False
    kind = message.get("kind")
    if not isinstance(kind, str) or set(message) != _FIELDS.get(kind):
        return False
    if kind == "returned":
        return isinstance(message["payload"], dict) and isinstance(message["changes"], list)
    if kind == "raised":
        lines = message["traceback"]
        texts = isinstance(message["type"], str) and isinstance(message["message"], str)
        return texts and isinstance(lines, list) and all(isinstance(line, str) for line in lines)
    return isinstance(message["error"], str)


def peculiarities(payload: dict[str, Any], changes: list[Any], arguments: Sequence[Any]) -> set[str]:
    """Which of :data:`REFUSED` is in a result, in what it changed, and in those arguments that it hands back.

    ``arguments`` are the packed things of the call, which a payload refers to by their numbers. Payload and changes may
    have any form.
    """
    root = payload.get("root")
    found = {EMPTY} if isinstance(root, str) and not root else set()
    handed_back: set[int] = set()
    waiting: list[Any] = [payload, changes]
    while waiting:
        tree = waiting.pop()
        if isinstance(tree, dict):
            found |= _of_kinds(tree)
            waiting += tree.values()
            number = tree.get("thing")
            if type(number) is int and 0 <= number < len(arguments) and number not in handed_back:
                handed_back.add(number)
                waiting.append(arguments[number])
        elif isinstance(tree, list):
            waiting += tree
        else:
            found |= _of_leaf(tree)
    return found


def _of_kinds(tree: dict[str, Any]) -> set[str]:
    """What the kind of a packed value makes of its content."""
    found = set()
    for kind, content in tree.items():
        no_columns = kind == "frame" and isinstance(content, list) and content[:1] == [[]]
        if (kind in _CONTAINERS and not _has_some(content)) or no_columns or (kind == "range" and _is_over(content)):
            found.add(EMPTY)
        if kind == "bytes" and isinstance(content, np.ndarray):
            found |= _of_leaf(content.tobytes().decode("latin-1"))
        if kind == "tensor" and tree.get("dtype") == "bfloat16":
            found |= _of_leaf(_from_bfloat16(content))
    return found


def _of_leaf(leaf: Any) -> set[str]:
    if isinstance(leaf, np.ndarray):
        no_number = leaf.dtype.kind in "fc" and bool(np.isnan(leaf).any())
        return {kind for kind, is_there in ((EMPTY, not leaf.size), (NAN, no_number)) if is_there}
    if isinstance(leaf, float) and math.isnan(leaf):
        return {NAN}
    return {WORDS} if isinstance(leaf, str) and any(word in leaf for word in _JUDGED_BY) else set()


def _has_some(content: Any) -> bool:
    return not isinstance(content, list) or bool(content)


def _is_over(content: Any) -> bool:
    """Whether a range of these bounds is empty."""
    try:
        return not range(*content)
    except (TypeError, ValueError):
        return False


def _from_bfloat16(content: Any) -> Any:
    """The numbers whose upper halves are serialised as 16-bit integers, since NumPy has no such dtype."""
    if not isinstance(content, np.ndarray) or content.dtype != np.int16:
        return None
    return np.asarray(content.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
