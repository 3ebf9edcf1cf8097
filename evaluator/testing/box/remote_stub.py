"""Stands in for the goal function where its unit test runs: sends each call out of the box, and waits for the answer.

Known to the test's process as ``lmr_board_remote``; the stub in the goal file's place calls :func:`call`. Python 3.8 or
newer; needs what frames and parcels need.
"""

from __future__ import annotations

import builtins
import os
import random
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class RemoteError(Exception):
    """The goal function raised something that is not one of Python's own exceptions, or returned what is no data."""


class _Line:
    """The connection, made once before the test runs."""

    frames: Any
    travel: Any
    calls: int
    answers: int
    repository: str
    send: Callable[..., None]
    lock = threading.Lock()
    count = 0
    sent_random: bytes = b""


def connect(frames: Any, calls: int, answers: int, repository: str, send: Callable[..., None]) -> None:
    """Use these descriptors. ``send`` reports obstacles."""
    _Line.frames, _Line.travel = frames, sys.modules["box_travel"]
    _Line.calls, _Line.answers, _Line.repository = calls, answers, repository
    _Line.send = staticmethod(send)


def call(module: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the goal function of ``module`` in the other box returns for these arguments, or raises."""
    packer = _Line.travel.Packer()
    with _Line.lock:  # one call at a time, whatever threads the test has
        answer: Any = _ask({"module": module, "path": _search_path()}, packer, args, kwargs)
    if answer["kind"] == "raised":
        raise _exception(answer)
    if answer["kind"] == "unsupported":
        _Line.send("obstacle", text=f"the result cannot travel: {answer['error']}")
        raise RemoteError(f"the result is no data: {_defused(answer['error'])}")
    unpacker = _Line.travel.Unpacker(packer.things)
    try:
        result = unpacker.unpack(answer["parcel"])
        unpacker.restore(answer["changes"])
    except _Line.travel.TravelError as error:
        _Line.send("obstacle", text=f"the result cannot travel: {error}")
        raise RemoteError(f"the result is no data: {_defused(str(error))}") from None
    return result


def _ask(message: dict[str, Any], packer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    frames = _Line.frames
    try:
        parcel = packer.pack((args, kwargs))
        raw = frames.encode({"kind": "call", "id": _Line.count, **message, "parcel": parcel, "random": _random_state()})
    except (frames.FrameError, _Line.travel.TravelError) as error:
        _Line.send("obstacle", text=f"the arguments cannot travel: {error}")
        raise RemoteError(f"the arguments cannot travel: {error}") from None
    _Line.count += 1
    view = memoryview(raw)
    while view:
        view = view[os.write(_Line.calls, view) :]
    answer = frames.read_frame(lambda count: os.read(_Line.answers, count))
    if answer is None:
        raise RemoteError("the other box is gone")
    return frames.decode(answer)


def _search_path() -> list[str]:
    """The folders of the repository that the test imports from, relative to it: the other box imports from the same."""
    inside = []
    for place in sys.path:
        relative = os.path.relpath(place or os.getcwd(), _Line.repository)  # noqa: PTH109
        if not relative.startswith(".."):
            inside.append(relative)
    return inside


def _random_state() -> Any:
    """The states of the random number generators, where they changed since they were last sent; else None."""
    state: dict[str, Any] = {"python": random.getstate()}
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        state["numpy"] = numpy_random.get_state()
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_rng_state"):
        state["torch"] = torch.get_rng_state()
    parcel = _Line.travel.Packer().pack(state)
    raw: bytes = _Line.frames.encode(parcel)
    if raw == _Line.sent_random:
        return None
    _Line.sent_random = raw
    return parcel


def _exception(answer: dict[str, Any]) -> Exception:
    """Python's own exception of that name, else a RemoteError that begins with it.

    Those that end an iteration are none of them: ``map(goal, …)`` in a test would stop early, and compare nothing.
    """
    name, message = _defused(answer["type"]), _defused(answer["message"])
    kind = getattr(builtins, name, None)
    error: Exception
    ends_loops = (StopIteration, StopAsyncIteration)
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, ends_loops):
        try:
            error = kind(message)
        except TypeError:
            error = RemoteError(f"{name}: {message}")
    else:
        error = RemoteError(f"{name}: {message}")
    error.remote_lines = list(answer["traceback"])  # type: ignore[attr-defined]
    return error


def _defused(text: str) -> str:
    """The words that logs are judged by may not come from the other box."""
    return text.replace("Passed", "passed").replace("Failed", "failed")
