"""Boxes that are forked from a process with the packages imported; the walls' tests run against these as well."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.sandbox.box import LocalSandbox
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_client import NAME_PREFIX
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.fork_server import MODULES
from evaluator.sandbox.fork_slots import Slot
from evaluator.sandbox.types import BoxSpec, Ending, Limits, Mount, SandboxError
from tests.evaluator.forked import ForkedBubblewrap, ForkedDocker
from tests.evaluator.sandbox.boxes import QUICK, order
from tests.evaluator.torch_environment import TORCH

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


def possible_slots(host: LocalSandbox) -> list[Slot]:
    folder = host.forks()
    assert folder is not None
    key = host.fork_servers._key(folder, program(""), ())
    return [Slot(key, number, folder) for number in range(4)]


def slots(host: LocalSandbox) -> list[Slot]:
    return [slot for slot in possible_slots(host) if slot.folder.exists()]


def stop(sandbox: LocalSandbox) -> None:
    ours = possible_slots(sandbox)
    sandbox.fork_servers.sweep(lambda slot: slot in ours)
    ours[0].broken.unlink(missing_ok=True)


def processes(sandbox: LocalSandbox, slot: Slot) -> set[int]:
    """Of the server: the numbers of its processes on this machine."""
    if isinstance(sandbox, DockerSandbox):
        top = sandbox._connection.client().containers.get(f"{NAME_PREFIX}{slot.name}").top()
        return {int(line[top["Titles"].index("PID")]) for line in top["Processes"]}
    assert isinstance(sandbox, BubblewrapSandbox)
    store = sandbox._store()
    assert store is not None
    return store.find(slot.name).processes()


def kill(sandbox: LocalSandbox, slot: Slot) -> None:
    """As somebody else would."""
    for process in processes(sandbox, slot):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def writable_memory(sandbox: LocalSandbox, slot: Slot) -> dict[int, bytes]:
    """What the server has in its memory, by the addresses of its parts."""
    found = {}
    for process in processes(sandbox, slot):
        if "python" in Path(f"/proc/{process}/cmdline").read_text().partition("\0")[0]:
            with Path(f"/proc/{process}/mem").open("rb", 0) as memory:
                for line in Path(f"/proc/{process}/maps").read_text().splitlines():
                    start, end = (int(number, 16) for number in line.split()[0].split("-"))
                    if " rw" in line and "[v" not in line:
                        memory.seek(start)
                        found[start] = memory.read(end - start)
    return found


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
        import sys, os, signal, __main__
        sys.stdout.reconfigure(encoding="utf-8")
        streams = [(s.encoding, s.errors, s.line_buffering, s.newlines, s.seekable(), s.isatty(), s.fileno())
                   for s in (sys.stdin, sys.stdout, sys.stderr)]
        print(streams, sys.argv, __name__, __main__.__dict__.get("__file__"), os.getcwd(), os.umask(0))
        print(os.getpgid(0) == os.getsid(0), os.environ["HOME"], sorted(os.listdir("/proc/self/fd")))
        print([(s.name, s.mode, s.buffer.name, s.buffer.mode) for s in (sys.stdin, sys.stdout, sys.stderr)])
        print([line for line in open("/proc/self/status") if line.startswith(("Sig", "Cap", "NoNew", "Seccomp:"))])
        print(__loader__, __annotations__, __spec__, __doc__, __package__)
        for stream in ("/dev/stdin", "/dev/stdout", "/proc/self/fd/2"):
            try:
                open(stream, "r" if stream == "/dev/stdin" else "w").close()
            except OSError as error:
                print(stream, error.strerror)
        print([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE)])
        sys.exit(7)
    """
    fresh, fork = make(idle_seconds=0.0).run(program(code)), forked.run(program(code))
    assert fork.stdout == fresh.stdout
    assert (fork.exit_code, fork.stderr) == (fresh.exit_code, fresh.stderr) == (7, b"")
    for error in ("import json\njson.loads('x')", "1 +", "import sys\nsys.excepthook = print\n1 / 0"):
        fresh, fork = make(idle_seconds=0.0).run(program(error)), forked.run(program(error))
        assert (fork.exit_code, fork.stderr) == (fresh.exit_code, fresh.stderr)
        assert fork.exit_code == 1
    assert fork.stdout.startswith(b"<class 'ZeroDivisionError'> division by zero <traceback")
    killed = forked.run(program("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert (killed.ending, killed.signal) == (Ending.SIGNALLED, signal.SIGSEGV)


def test_no_two_forks_draw_the_same_numbers(forked: LocalSandbox) -> None:
    code = "import random, numpy; print(random.random(), numpy.random.rand(), numpy.random.default_rng().random())"
    first, second = (set(forked.run(program(code)).stdout.split()) for _ in range(2))
    assert len(first | second) == 6


@pytest.mark.bubblewrap
def test_no_two_forks_of_pytorch_draw_the_same_numbers(torch_sandbox: BubblewrapSandbox, state_dir: Path) -> None:
    sandbox = ForkedBubblewrap(state_dir, environments=torch_sandbox._environments, fork_idle_seconds=60.0)
    limits = replace(QUICK, memory_bytes=2 * 2**30, wall_seconds=60.0)
    spec = replace(program("import torch; print(*torch.rand(4).tolist())", limits=limits), environment=TORCH)
    first, second = (set(sandbox.run(spec).stdout.split()) for _ in range(2))
    assert len(first | second) == 8
    sandbox.stop_servers()


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


def test_nothing_that_a_fork_does_to_shared_files_shows_in_the_next(forked: LocalSandbox) -> None:
    look = """
        import os, time
        own = ("/control", "/dev/mqueue", "/dev/pts", "/dev/shm", "/proc", "/sys", "/tmp")
        for place in filter(os.path.isdir, ("/", "/dev", "/etc", "/launch", "/usr/lib", "/box")):
            for path in [place, *(os.path.join(place, name) for name in sorted(os.listdir(place)))]:
                if path not in own:
                    status = os.lstat(path)
                    print(path, oct(status.st_mode), status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)
        terminals = os.stat("/dev/pts/ptmx")
        same = os.stat("/dev/tty").st_rdev == os.stat("/dev/null").st_rdev
        print(oct(terminals.st_mode), os.listdir("/dev/pts"), time.time() - terminals.st_mtime < 1, same)
        os.openpty()
    """
    forked.run(program("0"))
    time.sleep(1)
    before = forked.run(program(look))
    touch = """
        import os
        for place in filter(os.path.isdir, ("/", "/dev", "/etc", "/launch", "/usr/lib", "/dev/pts")):
            for path in (place, *(os.path.join(place, name) for name in os.listdir(place))):
                for act in (lambda: os.utime(path, (1, 1)), lambda: os.chmod(path, 0), lambda: os.listdir(path),
                            lambda: open(path, "ab").close(),
                            lambda: os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 1)):
                    try:
                        act()
                    except OSError:
                        pass
    """
    assert forked.run(program(touch)).exit_code == 0
    after = forked.run(program(look))
    assert after.stdout.decode().splitlines() == before.stdout.decode().splitlines()
    assert after.stdout.endswith(b"\n0o20666 ['ptmx'] True True\n")  # made for this fork; no terminal
    assert (after.exit_code, after.stderr) == (0, b"")


def test_the_servers_memory_knows_no_time(make: Callable[..., LocalSandbox]) -> None:
    """Every fork gets a copy of it, and would know when the last program ended."""
    sandbox = make()
    began = time.monotonic(), time.time()
    until_forked(sandbox)
    snapshots = []
    for seconds in (0.3, 0.7):
        sandbox.run(program(f"import time; time.sleep({seconds})"))
        snapshots.append(writable_memory(sandbox, slots(sandbox)[0]))
    changed = 0
    for start, now in snapshots[1].items():
        before = snapshots[0].get(start, b"")
        if len(before) != len(now):
            before = bytes(len(now))
        for kind, unit in (("<i8", 1e9), ("<f8", 1.0)):
            old, new = np.frombuffer(before, kind), np.frombuffer(now, kind)
            changed += int((old != new).sum())
            with np.errstate(invalid="ignore"):
                for clock in began:
                    times = (new > clock * unit) & (new < (clock + 200) * unit) & (old != new)
                    assert not times.any(), (hex(start), new[times] / unit, clock)
    assert changed  # it was the right process


def test_no_fork_finds_an_earlier_order_in_its_memory(forked: LocalSandbox) -> None:
    word = "a-word-that-stands-nowhere-else"
    leave = program("import sys; print(len(sys.argv[1]))")
    assert forked.run(replace(leave, argv=(*leave.argv, word * 2000))).stdout == f"{2000 * len(word)}\n".encode()
    look = """
        import sys
        word = sys.argv[1][::-1].encode()
        found = 0
        with open("/proc/self/mem", "rb", 0) as memory:
            for line in list(open("/proc/self/maps")):
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                if " rw" in line and "[v" not in line:
                    memory.seek(start)
                    found += memory.read(end - start).count(word * 2)
        print(found)
    """
    spec = program(look)
    assert forked.run(replace(spec, argv=(*spec.argv, word[::-1]))).stdout == b"0\n"


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


SHARED_MEMORY = """
    import ctypes
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(0, ctypes.c_size_t(300 << 20), 0o1600)
    assert number >= 0
    ctypes.memset(libc.shmat(number, None, 0), 1, 300 << 20)
"""
NAMES = """
    import os, time
    ends = time.monotonic() + 4
    number = 0
    while time.monotonic() < ends:
        number += 1
        os.access(f"/usr/lib/{os.urandom(4).hex()}-{number}", 0)
"""


@pytest.mark.bubblewrap
def test_what_a_program_held_is_given_back_before_the_next(bubblewrap: BubblewrapSandbox, state_dir: Path) -> None:
    """Else the next one would be killed for want of it."""
    sandbox = BubblewrapSandbox(state_dir, fork_idle_seconds=60.0)
    stop(sandbox)
    until_forked(sandbox)
    (slot,) = slots(sandbox)
    store = sandbox._store()
    assert store is not None
    group = store.find(slot.name).readable_counters()
    for _ in range(3):
        assert sandbox.run(program(SHARED_MEMORY)).exit_code == 0
        (used,) = (file for file in ("memory.usage_in_bytes", "memory.current") if (group / file).exists())
        assert int((group / used).read_text()) < 100 << 20
    assert slots(sandbox) == [slot]
    stop(sandbox)


def test_a_server_whose_memory_stays_full_is_left(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make()
    until_forked(sandbox)
    result = sandbox.run(program(NAMES))
    assert (result.ending, result.exit_code) == (Ending.EXITED, 0)
    assert slots(sandbox) == []


def test_a_run_counts_though_its_files_cannot_be_removed(
    make: Callable[..., LocalSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Slot) -> None:
        raise OSError(5, "Input/output error")

    sandbox = make()
    until_forked(sandbox)
    monkeypatch.setattr(Slot, "empty", fails)
    assert who(sandbox) == "forked"
    assert slots(sandbox) == []


def test_looking_whether_it_answers_keeps_no_server(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make(idle_seconds=2.0)
    until_forked(sandbox)
    server = slots(sandbox)[0]
    ends = time.monotonic() + 5
    while answers(server):
        assert time.monotonic() < ends
        time.sleep(0.2)


def test_a_box_that_is_killed_from_outside_is_a_fault_and_no_answers(
    make: Callable[..., LocalSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()
    until_forked(sandbox)
    monkeypatch.setattr(sandbox, "_run", lambda *_: pytest.fail("it ran a second time"))
    with ThreadPoolExecutor() as pool:
        running = pool.submit(sandbox.run, program("import time; time.sleep(20)"))
        time.sleep(1)
        kill(sandbox, slots(sandbox)[0])
        with pytest.raises(SandboxError, match="killed from outside"):
            running.result()
    monkeypatch.undo()
    until_forked(sandbox)  # it is no reason not to fork


def test_an_order_that_the_server_did_not_take_is_run_in_a_box_of_its_own(
    make: Callable[..., LocalSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()
    until_forked(sandbox)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()  # as by a server whose time was over
    monkeypatch.setattr(Slot, "connect", lambda _: ours)
    assert who(sandbox) == "started"
    monkeypatch.undo()
    until_forked(sandbox)


def test_whichever_user_made_the_folder_reaches_the_server(make: Callable[..., LocalSandbox]) -> None:
    sandbox = make()
    until_forked(sandbox)
    folder = os.open(slots(sandbox)[0].control, os.O_PATH)
    code = f"""
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("/proc/self/fd/{folder}/socket")
"""
    connected = subprocess.run(
        ["/usr/bin/python3", "-c", code], pass_fds=[folder], user=65533, group=65533, check=False, capture_output=True
    )
    os.close(folder)
    assert connected.stderr == b""


def test_a_fork_has_no_less_memory_than_a_box_of_its_own(
    make: Callable[..., LocalSandbox], forked: LocalSandbox
) -> None:
    code = """
        kept = []
        while True:
            kept.append(bytearray(b"x") * (1 << 20))
            print(len(kept), flush=True)
    """
    fresh, fork = (sandbox.run(program(code)) for sandbox in (make(idle_seconds=0.0), forked))
    assert fresh.ending is fork.ending is Ending.OUT_OF_MEMORY
    usable = [int(result.stdout.split()[-1]) for result in (fresh, fork)]
    assert 0 <= usable[1] - usable[0] <= 24, usable


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


def test_a_mount_below_another_is_not_left_to_a_server(make: Callable[..., LocalSandbox], tmp_path: Path) -> None:
    sandbox = make()
    until_forked(sandbox)
    for name in ("outer", "outer/place", "inner"):
        (tmp_path / name).mkdir()
    mounts = (Mount(tmp_path / "outer", "/box/a"), Mount(tmp_path / "inner", "/box/a/place"))
    assert who(sandbox, mounts=mounts) == "started"
    assert who(sandbox, mounts=mounts[:1]) == "forked"


def test_what_may_not_be_mounted_is_refused_in_the_same_words(
    make: Callable[..., LocalSandbox], tmp_path: Path
) -> None:
    sandbox = make()
    until_forked(sandbox)
    os.mkfifo(tmp_path / "pipe")
    said = []
    for each in (sandbox, make(idle_seconds=0.0)):
        with pytest.raises(SandboxError, match="only plain files") as caught:
            who(each, mounts=(Mount(tmp_path, "/box/a"),))
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_the_sweep_leaves_nothing_of_servers_that_ended(
    make: Callable[..., LocalSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make(idle_seconds=1.0)
    until_forked(sandbox)
    ended, elsewhere = slots(sandbox)[0], make(idle_seconds=60.0)
    time.sleep(2)
    assert not answers(ended)
    shutil.rmtree(ended.folder)  # as if its instance were gone: only the group or the container is left
    ended.lock.unlink()
    monkeypatch.setattr(f"{type(sandbox).__module__}.START_SECONDS", 0.0)
    elsewhere.fork_servers.sweep()
    assert ended.name not in sandbox._running()
    assert not ended.lock.exists()
    assert Slot.all_below(ended.servers) == [slot for slot in Slot.all_below(ended.servers) if answers(slot)]


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
    other = make()  # another process, which has not tried itself
    monkeypatch.setattr(other, "start_server", start)
    assert [who(other) for _ in range(2)] == ["started"] * 2
    assert len(tries) == 1
    monkeypatch.setattr("evaluator.sandbox.fork_slots.BROKEN_SECONDS", 0.0)
    who(other)
    assert len(tries) == 2
    note = possible_slots(other)[0].broken
    note.write_text("once")
    other.fork_servers.sweep(lambda _: False)
    assert not note.exists()


def test_a_worker_that_died_before_it_started_a_server_is_no_reason_not_to_fork(
    make: Callable[..., LocalSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()

    def dies(slot: Slot, spec: BoxSpec) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "start_server", dies)
        with pytest.raises(SystemExit):
            who(sandbox)
    monkeypatch.setattr("evaluator.sandbox.fork_slots.START_SECONDS", 0.0)
    assert slots(sandbox)[0].folder.exists()
    until_forked(sandbox)
