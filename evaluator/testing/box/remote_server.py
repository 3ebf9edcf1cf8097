"""Answers calls of an answer's goal function, one after the other, with data. Nothing of the test is in this box.

``{"kind": "call", "id", "module", "path", "parcel", "random"}`` is answered by ``returned`` (with ``parcel`` and
``changes``, the arguments that are not as they came), ``raised`` (``type``, ``message``, ``traceback``) or
``unsupported`` (``error``), each with the call's ``id``. Python 3.8 or newer; needs what frames and parcels need.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def serve(frames: Any, job: dict[str, Any], answers: int, repository: Path) -> None:
    """Answer until the calls end. Leaves by ``os._exit``, so that no exit hook of the answer runs afterwards."""
    leave, write = os._exit, os.write
    child = _sibling("upstream_child")
    travel = sys.modules["box_travel"]
    os.environ.update(child.VARIABLES)
    os.chdir(repository)
    while True:
        raw = frames.read_frame(lambda count: os.read(0, count))
        if raw is None:
            break
        call = frames.decode(raw)
        try:
            answer = _answer(frames, travel, child, call, raw, job["goal"], str(repository))
            encoded = frames.encode({"id": call["id"], **answer})
        except Exception as error:  # noqa: BLE001 - a result may be any object, with any behaviour
            text = f"{type(error).__name__}: {error}"[:1000]
            encoded = frames.encode({"id": call["id"], "kind": "unsupported", "error": child.plain(text, 1000)})
        view = memoryview(encoded)
        while view:
            view = view[write(answers, view) :]
    child.flush(sys.__stdout__)
    child.flush(sys.__stderr__)
    leave(0)


def _answer(
    frames: Any, travel: Any, child: Any, call: dict[str, Any], raw: bytes, goal: str, repository: str
) -> dict[str, Any]:
    unpacker = travel.Unpacker()
    args, kwargs = unpacker.unpack(call["parcel"])
    # What came, once more in fresh arrays: the function may change those of its arguments.
    before = frames.decode(raw)["parcel"]["things"]
    if call["random"] is not None:
        _set_random_state(travel.Unpacker().unpack(call["random"]))
    try:
        function = _goal(call["module"], goal, call["path"], repository)
        result = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001 - sys.exit() in the goal function is an answer too
        return {"kind": "raised", **child.describe_error(error, inside=repository)}
    packer = travel.Packer(unpacker.things)
    parcel = packer.pack(result)
    return {"kind": "returned", "parcel": parcel, "changes": packer.changes(before)}


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


def _sibling(stem: str) -> Any:
    place = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    specification = importlib.util.spec_from_file_location(f"box_{stem}", f"{place}/{stem}.py")
    if specification is None or specification.loader is None:
        raise ImportError(f"{stem}.py cannot be imported")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
