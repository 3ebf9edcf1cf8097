"""A user of the host's for each box: what the kernel counts for a user is not shared between boxes."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluator.sandbox import host_users
from evaluator.sandbox.host_users import take_host_user
from evaluator.sandbox.types import Limits, Sandbox, SandboxError
from tests.evaluator.sandbox.boxes import run

FILL = """
import os, socket, time
held = []
try:
    while True:
        pair = socket.socketpair()
        held.append(pair)
        pair[0].setblocking(False)
        try:
            while True:
                socket.send_fds(pair[0], [b"x"], [0] * 50)
        except BlockingIOError:
            pass
except OSError as error:
    print(error.strerror)
print(time.time())
time.sleep(6)
print(time.time())
"""

SEND = """
import socket, time
print(time.time())
pair = socket.socketpair()
socket.send_fds(pair[0], [b"x"], [0])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="without root, bubblewrap's boxes are all the worker's own user")
def test_what_one_box_uses_up_is_not_missing_in_another(sandbox: Sandbox) -> None:
    """As sending descriptors, with which PyTorch's workers hand tensors over."""
    with ThreadPoolExecutor() as pool:
        greedy = pool.submit(run, sandbox, FILL)
        others = []
        while not greedy.done():
            # Another limit, so that a forked one has another server even on a single processor.
            others.append(run(sandbox, SEND, limits=Limits(processes=50)))
    why, full, ended = greedy.result().stdout.decode().splitlines()
    assert why == "Too many references: cannot splice"
    meanwhile = [other for other in others if float(full) < float(other.stdout) < float(ended)]
    assert meanwhile
    assert {(other.exit_code, other.stderr) for other in others} == {(0, b"")}


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    """Where folders of boxes lie, and of servers; nothing lies in the third place."""
    found = [tmp_path / name for name in ("boxes", "forks", "absent")]
    for place in found[:2]:
        place.mkdir()
        (place / "slot.lock").touch()
    return found


def folder(place: Path, name: str) -> Path:
    (place / name).mkdir()
    return place / name


def test_every_folder_has_another_user_for_as_long_as_it_is_there(
    places: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_users, "HOST_USERS", 3)
    folders = [folder(places[0], "a"), folder(places[1], "b"), folder(places[0], "c")]
    assert {take_host_user(7000, each, places) for each in folders} == {7000, 7001, 7002}
    with pytest.raises(SandboxError, match="3 boxes are there already, each with a user of its own"):
        take_host_user(7000, folder(places[1], "d"), places)
    taken = {int(note.name.rpartition("-")[2]) for note in folders[1].iterdir()}
    shutil.rmtree(folders[1])
    assert {take_host_user(7000, folder(places[1], "e"), places)} == taken


def test_two_at_once_do_not_take_the_same(places: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_users, "HOST_USERS", 40)
    folders = [folder(places[number % 2], str(number)) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda each: take_host_user(7000, each, places), folders))
    assert sorted(numbers) == list(range(7000, 7040))
