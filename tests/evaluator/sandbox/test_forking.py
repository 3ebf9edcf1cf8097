"""Boxes that are forked from a process with the packages imported; the walls' tests run against these as well."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.sandbox.box import LocalSandbox
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.fork_server import MODULES
from evaluator.sandbox.fork_slots import Slot
from evaluator.sandbox.types import BoxSpec, Ending, Limits, Mount, SandboxError
from tests.evaluator.forked import ForkedBubblewrap, ForkedDocker
from tests.evaluator.sandbox.boxes import QUICK, order

BOTH = [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("docker", marks=pytest.mark.docker),
]
WHO = "print('forked' if 'fork' + '_server' in open('/proc/self/cmdline').read() else 'started')"
LIMITS = replace(QUICK, open_files=128 + os.getpid() % 128, processes=60)
"""Hardly anybody else's, so that the servers are of this module's tests alone."""


@pytest.fixture(params=BOTH)
def kind(request: pytest.FixtureRequest) -> str:
    """Which of the two, where it works."""
    request.getfixturevalue(request.param)
    name: str = request.param
    return name


@pytest.fixture
def make(kind: str, state_dir: Path) -> Iterator[Callable[..., LocalSandbox]]:
    """Makes sandboxes that fork where a server is ready; none is at the beginning, nor afterwards."""

    def make(idle_seconds: float = 60.0) -> LocalSandbox:
        if kind == "docker":
            return DockerSandbox(state_dir, fork_idle_seconds=idle_seconds)
        return BubblewrapSandbox(state_dir, fork_idle_seconds=idle_seconds)

    stop(make())
    yield make
    stop(make())


@pytest.fixture
def forked(kind: str, request: pytest.FixtureRequest) -> ForkedBubblewrap | ForkedDocker:
    """Forks every box."""
    found: ForkedBubblewrap | ForkedDocker = request.getfixturevalue(f"forked_{kind}")
    return found


def program(code: str, *, limits: Limits = LIMITS, mounts: tuple[Mount, ...] = ()) -> BoxSpec:
    return replace(order(code, limits=limits, mounts=mounts), may_fork=True)


def who(sandbox: LocalSandbox, **changes: object) -> str:
    return sandbox.run(replace(program(WHO), **changes)).stdout.decode().strip()  # type: ignore[arg-type]


def until_forked(sandbox: LocalSandbox) -> None:
    deadline = time.monotonic() + 30
    while who(sandbox) != "forked":
        assert time.monotonic() < deadline
        time.sleep(0.1)


def slots(host: LocalSandbox) -> list[Slot]:
    folder = host.forks()
    assert folder is not None
    key = host.fork_servers._key(folder, program(""), ())
    return [slot for number in range(4) if (slot := Slot(key, number, folder)).folder.exists()]


def stop(sandbox: LocalSandbox) -> None:
    ours = slots(sandbox)
    sandbox.fork_servers.sweep(lambda slot: slot in ours)


def answers(slot: Slot) -> bool:
    connection = slot.connect()
    if connection is not None:
        connection.close()
    return connection is not None


def test_the_first_box_is_started_and_later_ones_are_forked(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make()
    assert who(sandbox) == "started"
    until_forked(sandbox)
    assert who(make()) == "forked"  # another process would find the server, too
    assert who(sandbox, may_fork=False) == "started"
    assert who(sandbox, variables=(("PYTORCH_JIT", "0"),)) == "started"
    assert who(make(idle_seconds=0.0)) == "started"


def test_what_the_environment_imports_is_imported_unless_the_repository_has_it(
    make: Callable[..., LocalSandbox], tmp_path: Path
) -> None:
    sandbox = make()
    until_forked(sandbox)
    modules = json.loads(next(slot for slot in slots(sandbox)).control.joinpath(MODULES).read_text())
    assert "selectors" in modules or "socket" in modules
    assert "numpy" not in modules  # the driver imports it before a repository can be seen
    inside = tmp_path / "package"
    inside.mkdir()
    (inside / "__init__.py").touch()
    (inside / "socket.py").touch()
    mounts = (Mount(tmp_path, "/box/repository"),)
    assert who(sandbox, mounts=mounts) == "forked"  # package.socket is no other socket
    (tmp_path / "socket.py").touch()
    assert who(sandbox, mounts=mounts) == "started"


def test_a_fork_is_what_a_fresh_interpreter_is(
    kind: str, forked: LocalSandbox, make: Callable[..., LocalSandbox]
) -> None:
    code = """
        import sys, os, __main__
        sys.stdout.reconfigure(encoding="utf-8")
        streams = [(s.encoding, s.errors, s.line_buffering, s.newlines, s.seekable(), s.isatty(), s.fileno())
                   for s in (sys.stdin, sys.stdout, sys.stderr)]
        print(streams, sys.argv, __name__, __main__.__dict__.get("__file__"), os.getcwd(), os.umask(0))
        print(os.getpgid(0) == os.getsid(0), os.environ["HOME"], sorted(os.listdir("/proc/self/fd")))
        sys.exit(7)
    """
    fresh, fork = make(idle_seconds=0.0).run(program(code)), forked.run(program(code))
    assert fork.stdout == fresh.stdout
    assert (fork.exit_code, fork.stderr) == (fresh.exit_code, fresh.stderr) == (7, b"")
    error = "import json\njson.loads('x')"
    fresh, fork = make(idle_seconds=0.0).run(program(error)), forked.run(program(error))
    assert (fork.exit_code, fork.stderr) == (fresh.exit_code, fresh.stderr)
    assert fork.exit_code == 1
    killed = forked.run(program("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert (killed.ending, killed.signal) == (Ending.SIGNALLED, signal.SIGSEGV)


def test_no_two_forks_draw_the_same_numbers(forked: LocalSandbox) -> None:
    code = "import random, numpy; print(random.random(), numpy.random.rand(), numpy.random.default_rng().random())"
    first, second = (set(forked.run(program(code)).stdout.split()) for _ in range(2))
    assert len(first | second) == 6


def test_a_fork_sees_nothing_of_its_server_nor_of_another_fork(forked: LocalSandbox, tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text("first")
    leave = """
        import os, subprocess, sys, time
        open("/tmp/left", "w").write("x"); open("/dev/shm/left", "w").write("x")
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
    """
    assert forked.run(program(leave, mounts=(Mount(tmp_path, "/box/repository"),))).exit_code == 0
    look = """
        import os
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
        hidden = [os.listdir(place) for place in ("/control", "/sys", "/dev/mqueue") if os.path.isdir(place)]
        try:
            os.mkdir("/control/x")
        except OSError as error:
            print(error.strerror)
        print(len(numbers), [x for x in hidden if x], os.listdir("/tmp"), os.listdir("/dev/shm"), os.listdir("/box"))
        print(open("/proc/self/cgroup").read().count("forks"))
    """
    said = forked.run(program(look)).stdout.decode()
    assert said == "Read-only file system\n2 [] [] [] []\n0\n"


def test_a_program_that_is_stopped_takes_its_server_with_it(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make()
    until_forked(sandbox)
    limits = replace(LIMITS, wall_seconds=1.0)
    assert sandbox.run(program("while True: pass", limits=limits)).ending is Ending.WALL_TIMEOUT
    assert slots(sandbox) == []
    assert who(sandbox) == "started"
    until_forked(sandbox)
    greedy = sandbox.run(program("x = bytearray(1 << 30); x[::4096] = b'x' * len(x[::4096])"))
    assert greedy.ending is Ending.OUT_OF_MEMORY
    assert slots(sandbox) == []


def test_a_fork_ends_with_the_process_that_wanted_it(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make()
    until_forked(sandbox)
    server = slots(sandbox)
    asking = multiprocessing.get_context("fork").Process(
        target=sandbox.run, args=(program("import time; time.sleep(9)"),)
    )
    asking.start()
    time.sleep(0.5)
    assert asking.pid is not None
    os.kill(asking.pid, signal.SIGKILL)
    asking.join()
    deadline = time.monotonic() + 5
    while answers(server[0]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    sandbox.fork_servers.sweep(lambda slot: slot in server and not answers(slot))
    assert slots(sandbox) == []
    assert server[0].name not in sandbox._running()


def test_two_programs_at_once_have_two_servers_and_an_idle_one_ends(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make(idle_seconds=3.0)
    spec = program(f"{WHO}; import time; time.sleep(0.7)")
    deadline = time.monotonic() + 30
    said: list[bytes] = []
    while said != [b"forked\n"] * 2:
        assert time.monotonic() < deadline
        with ThreadPoolExecutor(2) as pool:
            said = [result.stdout for result in pool.map(sandbox.run, [spec, spec])]
    assert len(slots(sandbox)) == 2
    time.sleep(4)
    assert not any(answers(slot) for slot in slots(sandbox))
    stop(sandbox)
    assert slots(sandbox) == []


def test_what_a_killed_worker_left_in_a_box_is_shown_to_nobody(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make()
    until_forked(sandbox)
    (slots(sandbox)[0].box / "answer.py").write_text("secret")
    assert sandbox.run(program("import os; print(os.path.exists('/box/answer.py'))")).stdout == b"False\n"
    assert slots(sandbox) == []


def test_a_mount_lies_as_deep_as_it_is_asked_for(forked: LocalSandbox, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("deep")
    mounts = (Mount(tmp_path, "/box/a/b/c"), Mount(tmp_path / "note.txt", "/box/a/one.txt"))
    code = "print(open('/box/a/b/c/note.txt').read(), open('/box/a/one.txt').read())"
    assert forked.run(program(code, mounts=mounts)).stdout == b"deep deep\n"


@pytest.mark.parametrize("mistake", ["cannot start", "ends at once"])
def test_where_no_server_works_boxes_are_started(
    make: Callable[..., LocalSandbox], monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    sandbox = make()
    tries: list[str] = []

    def start(slot: Slot, spec: BoxSpec) -> None:
        tries.append(slot.name)
        if mistake == "cannot start":
            raise SandboxError("no")
        slot.log.write_text("bwrap: no")

    monkeypatch.setattr(sandbox, "start_server", start)
    monkeypatch.setattr("evaluator.sandbox.fork_slots.START_SECONDS", 0.1)
    for _ in range(3):
        assert who(sandbox) == "started"
        time.sleep(0.2)
    assert len(tries) == 1
    assert slots(sandbox) == []
