"""A host user for each box, so that boxes do not share what the kernel limits per user."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluator.sandbox import host_users
from evaluator.sandbox.box import LocalSandbox
from evaluator.sandbox.box_names import BoxName
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.host_users import take_host_user
from evaluator.sandbox.interface import BoxResult, Ending, Limits, Sandbox, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import has_own_kernel, run
from tests.evaluator.sandbox.forks import stop, who

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


def test_a_box_cannot_use_up_the_resources_of_another(sandbox: Sandbox) -> None:
    """For example sending descriptors, with which PyTorch's workers pass tensors."""
    if os.geteuid() != 0 and sandbox.name == "bubblewrap":
        pytest.skip("without root, bubblewrap's boxes are all the worker's own user")
    with ThreadPoolExecutor() as pool:
        greedy = pool.submit(run, sandbox, FILL)
        others = []
        while not greedy.done():
            # Another limit, so that a forked box has another server even on a single processor.
            others.append(run(sandbox, SEND, limits=Limits(processes=50)))
    assert {(other.exit_code, other.stderr) for other in others} == {(0, b"")}
    if has_own_kernel(sandbox):  # it has no such limit, and shares nothing with another box's
        assert greedy.result().ending is Ending.CPU_TIMEOUT
        return
    why, full, ended = greedy.result().stdout.decode().splitlines()
    assert why == "Too many references: cannot splice"
    assert [other for other in others if float(full) < float(other.stdout) < float(ended)]


def test_servers_and_boxes_share_no_user(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_users, "HOST_USERS", 2)
    first = 40_000 + 2 * (os.getpid() % 5000)  # unique in the folder that all tests share
    sandbox = make()
    sandbox._host_uid = first
    assert who(sandbox) == "forked"
    notes = [sandbox._boxes.parent / "host-users" / str(number) for number in (first, first + 1)]
    assert [note.exists() for note in notes].count(True) == 1
    with ThreadPoolExecutor() as pool:
        running = pool.submit(run, sandbox, "import time; time.sleep(3)")
        while not all(note.exists() for note in notes):
            assert not running.done()
        with pytest.raises(SandboxUnavailableError, match="2 boxes are there, each with a user of its own"):
            run(sandbox, "print('never')")
        assert who(sandbox) == "forked"
        assert running.result().exit_code == 0
    assert run(sandbox, "print('again')").stdout == b"again\n"
    stop(sandbox)
    assert [note.exists() for note in notes] == [False, False]


def test_a_box_that_cannot_be_removed_keeps_its_user(
    each_sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user is free when the sweep has removed the box."""
    sandbox, first = each_sandbox, 40_000 + 2 * (os.getpid() % 5000)
    monkeypatch.setattr(sandbox, "_host_uid", first)
    monkeypatch.setattr(host_users, "HOST_USERS", 1)
    note = sandbox._boxes.parent / "host-users" / str(first)
    running: set[str] = set()

    def fails(name: BoxName, *_: object) -> BoxResult:
        sandbox._take_user(sandbox._boxes / str(name))
        running.add(str(name))
        raise SandboxError("the engine does not answer")

    monkeypatch.setattr(sandbox, "_run", fails)
    monkeypatch.setattr(sandbox, "_running", lambda: running)
    with pytest.raises(SandboxError, match="the engine does not answer"):
        run(sandbox, "print('never')")
    assert note.exists()
    (name,) = running
    monkeypatch.setattr(BoxName, "is_left_over", lambda self, **_: str(self) == name)
    assert sandbox.reap(keep=lambda _: False) == 1
    assert not note.exists()


@pytest.fixture
def taken(tmp_path: Path) -> Path:
    """The folder in which numbers are noted; it does not exist yet."""
    return tmp_path / "host-users"


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def test_every_folder_has_its_own_user_while_it_exists(
    taken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_users, "HOST_USERS", 3)
    folders = [folder(tmp_path, name) for name in "abc"]
    numbers = [take_host_user(7000, each, taken) for each in folders]
    assert sorted(numbers) == [7000, 7001, 7002]
    assert stat.S_IMODE(taken.stat().st_mode) == 0o700  # no other user can hold its lock
    with pytest.raises(SandboxUnavailableError, match="3 boxes are there, each with a user of its own"):
        take_host_user(7000, folder(tmp_path, "d"), taken)
    shutil.rmtree(folders[1])
    assert take_host_user(7000, tmp_path / "d", taken) == numbers[1]


def test_a_folder_that_is_made_again_has_one_number(
    taken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a fork server's folder is, repeatedly."""
    monkeypatch.setattr(host_users, "HOST_USERS", 2)
    slot, other = folder(tmp_path, "slot"), folder(tmp_path, "other")
    for _ in range(4):
        number = take_host_user(7000, slot, taken)
        assert [note.name for note in taken.iterdir()] == [str(number)]
        shutil.rmtree(slot)
        slot.mkdir()
    assert take_host_user(7000, slot, taken) != take_host_user(7000, other, taken)


def test_concurrent_callers_take_different_users(taken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_users, "HOST_USERS", 40)
    folders = [folder(tmp_path, str(number)) for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda each: take_host_user(7000, each, taken), folders))
    assert sorted(numbers) == list(range(7000, 7040))
