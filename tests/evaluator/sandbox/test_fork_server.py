"""What a forked program is like, and that it learns nothing of others that were forked from the same process."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.interface import Ending, Mount
from tests.evaluator.forked import ForkedBubblewrap
from tests.evaluator.sandbox.boxes import QUICK
from tests.evaluator.sandbox.forks import (
    program,
    slots,
    stop,
    who,
    writable_memory,
)
from tests.evaluator.torch_environment import TORCH


@pytest.fixture
def _usual_signals() -> Iterator[None]:
    """A shell lets its background processes ignore these signals, and a started box inherits that."""
    before = [
        signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.signal(signal.SIGQUIT, signal.SIG_DFL),
    ]
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGQUIT), before, strict=True):
        signal.signal(number, handler)


@pytest.mark.usefixtures("_usual_signals")
def test_a_fork_is_like_a_fresh_interpreter(forked: BubblewrapSandbox, make: Callable[..., BubblewrapSandbox]) -> None:
    code = """
        import sys, os, signal, __main__
        sys.stdout.reconfigure(encoding="utf-8")
        streams = [(s.encoding, s.errors, s.line_buffering, s.newlines, s.seekable(), s.isatty(), s.fileno())
                   for s in (sys.stdin, sys.stdout, sys.stderr)]
        print(streams, sys.argv, __name__, __main__.__dict__.get("__file__"), os.getcwd(), os.umask(0))
        print(os.getpgid(0) == os.getsid(0), os.environ["HOME"], sorted(os.listdir("/proc/self/fd")))
        print([(s.name, s.mode, s.buffer.name, s.buffer.mode) for s in (sys.stdin, sys.stdout, sys.stderr)])
        names = ("SigI", "SigC", "Cap", "NoNew", "Seccomp:")
        print([line for line in open("/proc/self/status") if line.startswith(names)])
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


def test_no_two_forks_draw_the_same_numbers(forked: BubblewrapSandbox) -> None:
    code = "import random, numpy; print(random.random(), numpy.random.rand(), numpy.random.default_rng().random())"
    first, second = (set(forked.run(program(code)).stdout.split()) for _ in range(2))
    assert len(first | second) == 6


@pytest.mark.bubblewrap
def test_no_two_forks_of_pytorch_draw_the_same_numbers(torch_sandbox: BubblewrapSandbox, state_dir: Path) -> None:
    sandbox = ForkedBubblewrap(state_dir, environments=torch_sandbox._environments, fork_idle_seconds=60.0)
    limits = replace(QUICK, memory_bytes=2 * 2**30, wall_seconds=60.0)
    code = "import ssl, torch; print(*torch.rand(4).tolist(), ssl.RAND_bytes(8).hex())"
    spec = replace(program(code, limits=limits), environment=TORCH)
    first, second = (set(sandbox.run(spec).stdout.split()) for _ in range(2))
    assert len(first | second) == 10
    sandbox.stop_servers()


def test_prints_of_the_servers_imports_are_in_no_programs_output(
    make: Callable[..., BubblewrapSandbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make()
    entry = sandbox.entry("numpy")
    monkeypatch.setattr(sandbox, "entry", lambda _: replace(entry, imports=("this",)))
    assert who(sandbox) == "forked"
    assert sandbox.run(program("import this; print('mine')")).stdout == b"mine\n"
    folder = sandbox.forks()
    assert folder is not None
    key = sandbox.fork_servers._key(folder, program(""), ("this",))
    sandbox.fork_servers.sweep(lambda slot: slot.key == key)


def test_terminals_of_one_program_leave_some_for_the_rest_of_the_machine(forked: BubblewrapSandbox) -> None:
    code = """
        import os
        opened = []
        try:
            while len(opened) < 100:
                opened.append(os.openpty())
        except OSError as error:
            print(error.strerror, len(opened))
    """
    assert forked.run(program(code)).stdout == b"No space left on device 16\n"


def test_a_fork_sees_nothing_of_its_server_nor_of_another_fork(forked: BubblewrapSandbox, tmp_path: Path) -> None:
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
    output = forked.run(program(look)).stdout.decode()
    assert output == "Read-only file system\n2 [] [] [] []\n0\n"


def test_changes_of_shared_files_by_a_fork_are_invisible_to_the_next(forked: BubblewrapSandbox) -> None:
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


def test_the_servers_memory_contains_no_time(make: Callable[..., BubblewrapSandbox]) -> None:
    """Every fork gets a copy of it, in which a time would show when the last program ended."""
    sandbox = make()
    began = time.monotonic(), time.time()
    assert who(sandbox) == "forked"
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


def test_no_fork_finds_an_earlier_order_in_its_memory(forked: BubblewrapSandbox) -> None:
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
def test_memory_of_a_program_is_released_before_the_next(bubblewrap: BubblewrapSandbox, state_dir: Path) -> None:
    """Otherwise the next one would be killed for lack of memory."""
    sandbox = BubblewrapSandbox(state_dir, fork_idle_seconds=60.0)
    stop(sandbox)
    assert who(sandbox) == "forked"
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


def test_a_server_whose_memory_stays_full_is_abandoned(make: Callable[..., BubblewrapSandbox]) -> None:
    sandbox = make()
    assert who(sandbox) == "forked"
    result = sandbox.run(program(NAMES))
    assert (result.ending, result.exit_code) == (Ending.EXITED, 0)
    assert slots(sandbox) == []


def test_a_fork_has_no_less_memory_than_a_box_of_its_own(
    make: Callable[..., BubblewrapSandbox], forked: BubblewrapSandbox
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
