"""Both ends of a remote goal: what stands in for it where its unit test runs, and what runs it in the answer's box.

A message ``{"kind": "call", "id", "module", "path", "payload", "random"}`` is answered by ``returned`` (with
``payload`` and ``changes``, the arguments that are not as they came), ``raised`` (``type``, ``message``, ``traceback``)
or ``unsupported`` (``error``), each with the call's ``id``. Nothing of the test is in the answer's box.

Known to the test's process as ``lmr_board_remote``; the stub in the goal file's place calls :func:`call`. Python 3.8 or
newer; needs what messages and payloads need.
"""

from __future__ import annotations

import builtins
import importlib
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
    payloads: Any
    calls: int
    answers: Any
    repository: str
    send: Callable[..., None]
    lock = threading.Lock()
    count = 0
    sent_random: bytes = b""


def connect(frames: Any, calls: int, answers: int, repository: str, send: Callable[..., None]) -> None:
    """Use these descriptors. ``send`` reports obstacles."""
    _Line.frames, _Line.payloads = frames, sys.modules["box_payloads"]
    _Line.calls, _Line.answers, _Line.repository = calls, frames.Reader(answers), repository
    _Line.send = staticmethod(send)


def call(module: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the goal function of ``module`` in the other box returns for these arguments, or raises."""
    packer = _Line.payloads.Packer()
    with _Line.lock:  # one call at a time, whatever threads the test has
        answer: Any = _ask({"module": module, "path": _search_path()}, packer, args, kwargs)
    if answer["kind"] == "raised":
        raise _exception(answer)
    if answer["kind"] == "unsupported":
        _Line.send("obstacle", text=f"the result cannot be serialised: {answer['error']}")
        raise RemoteError(f"the result is no data: {_defused(answer['error'])}")
    unpacker = _Line.payloads.Unpacker(packer.things)
    try:
        result = unpacker.unpack(answer["payload"])
        unpacker.restore(answer["changes"])
    except _Line.payloads.PayloadError as error:
        _Line.send("obstacle", text=f"the result cannot be serialised: {error}")
        raise RemoteError(f"the result is no data: {_defused(str(error))}") from None
    return result


def _ask(message: dict[str, Any], packer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    frames = _Line.frames
    try:
        payload = packer.pack((args, kwargs))
        raw = frames.encode(
            {"kind": "call", "id": _Line.count, **message, "payload": payload, "random": _random_state()}
        )
    except (frames.FrameError, _Line.payloads.PayloadError) as error:
        _Line.send("obstacle", text=f"the arguments cannot be serialised: {error}")
        raise RemoteError(f"the arguments cannot be serialised: {error}") from None
    _Line.count += 1
    _write_all(os.write, _Line.calls, raw)
    answer = _Line.answers.line()
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
    payload = _Line.payloads.Packer().pack(state)
    raw: bytes = _Line.frames.encode(payload)
    if raw == _Line.sent_random:
        return None
    _Line.sent_random = raw
    return payload


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


def serve(frames: Any, child: Any, job: dict[str, Any], calls: Any, answers: int, repository: str) -> None:
    """Answer ``calls`` until they end. Leaves by ``os._exit``, so that no exit hook of the answer runs afterwards."""
    leave, write = os._exit, os.write
    payloads = sys.modules["box_payloads"]
    os.environ.update(child.VARIABLES)
    os.chdir(repository)
    while True:
        raw = calls.line()
        if raw is None:
            break
        call = frames.decode(raw)
        try:
            answer = _answer(frames, payloads, child, call, raw, job["goal"], repository)
            encoded = frames.encode({"id": call["id"], **answer})
        except Exception as error:  # noqa: BLE001 - a result may be any object, with any behaviour
            text = f"{type(error).__name__}: {error}"[:1000]
            encoded = frames.encode({"id": call["id"], "kind": "unsupported", "error": child.plain(text, 1000)})
        _write_all(write, answers, encoded)
    child.flush(sys.__stdout__)
    child.flush(sys.__stderr__)
    leave(0)


def _answer(
    frames: Any, payloads: Any, child: Any, call: dict[str, Any], raw: bytes, goal: str, repository: str
) -> dict[str, Any]:
    unpacker = payloads.Unpacker()
    args, kwargs = unpacker.unpack(call["payload"])
    # What came, once more in fresh arrays: the function may change those of its arguments.
    before = frames.decode(raw)["payload"]["things"]
    if call["random"] is not None:
        _set_random_state(payloads.Unpacker().unpack(call["random"]))
    try:
        function = _goal(call["module"], goal, call["path"], repository)
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001 - sys.exit() in the goal function is an answer too
        return {"kind": "raised", **child.describe_error(error, inside=repository)}
    packer = payloads.Packer(unpacker.things)
    payload = packer.pack(result)
    return {"kind": "returned", "payload": payload, "changes": packer.changes(before)}


def _goal(module: str, goal: str, path: list[str], repository: str) -> Any:
    """The function, imported as the test imports it."""
    for place in reversed([os.path.normpath(f"{repository}/{part}") for part in path]):
        if place not in sys.path:
            sys.path.insert(0, place)
    return getattr(importlib.import_module(module), goal)


def _set_random_state(state: dict[str, Any]) -> None:
    """Go on with the test's random numbers."""
    random.setstate(state["python"])
    if "numpy" in state:
        importlib.import_module("numpy.random").set_state(state["numpy"])
    if "torch" in state:
        importlib.import_module("torch").set_rng_state(state["torch"])


def _write_all(write: Callable[[int, memoryview], int], descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[write(descriptor, view) :]
