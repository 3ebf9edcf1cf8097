"""Attacks between boxes: pass bits through state that the kernel shares between them."""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

import pytest

from evaluator.sandbox.interface import BoxSpec, Feed, Limits, Sandbox

BITS: Final = 64
RECEIVED: Final = 56
"""A number of right bits that excludes chance: guessing reaches it less than once in a billion tries."""

COMMON: Final = """
import ctypes, fcntl, os, struct, sys

PAGE = 4096
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def tried(action, *arguments):
    try:
        return action(*arguments)
    except OSError:
        return None


def shared_files():
    for place in ("/usr", "/launch"):
        for folder, folders, files in os.walk(place):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield path


def large_file():
    mapped = open("/proc/self/maps").read()
    return max((path for path in shared_files() if path not in mapped), key=os.path.getsize)


def aio_setup(events):
    number = {"x86_64": 206, "aarch64": 0}[os.uname().machine]
    context = ctypes.c_ulong(0)
    return call("syscall", ctypes.c_long(number), ctypes.c_long(events), ctypes.byref(context))


def lock(kind, place):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, place, 1, 0)
"""


class Pair(NamedTuple):
    """Two programs in two boxes at once: ``sender`` knows ``SECRET``, ``receiver`` stores what it learns in ``bits``.

    ``SECRET`` is a text of 64 zeros and ones, all ones where ``exhausts``.
    """

    name: str
    sender: str
    receiver: str
    exhausts: bool = False


PAIRS: Final = (
    Pair(
        "page cache",
        """
file = os.open(large_file(), os.O_RDONLY)
tried(os.posix_fadvise, file, 0, 0, os.POSIX_FADV_DONTNEED)
tried(os.posix_fadvise, file, 0, 0, os.POSIX_FADV_RANDOM)
for number, bit in enumerate(SECRET):
    if bit == "1":
        os.pread(file, 1, (1 + 4 * number) * PAGE)
""",
        """
file = os.open(large_file(), os.O_RDONLY)
buffer = ctypes.create_string_buffer(1)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 1)


def resident(number):
    try:
        return call("preadv2", file, vector, 1, ctypes.c_long((1 + 4 * number) * PAGE), 8)
    except OSError as error:
        return 0 if error.errno == 11 else None


bits = [resident(number) for number in range(64)]
""",
    ),
    Pair(
        "file locks",
        """
kept = [os.open(path, os.O_RDONLY) for path, _ in zip(shared_files(), SECRET)]
for file, bit in zip(kept, SECRET):
    if bit == "1":
        tried(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
""",
        """
def locked(path):
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 1
    except OSError:
        return None
    return 0


bits = [locked(path) for path, _ in zip(shared_files(), range(64))]
""",
    ),
    Pair(
        "range locks",
        """
file = os.open(list(shared_files())[-1], os.O_RDONLY)
for number, bit in enumerate(SECRET):
    if bit == "1":
        tried(fcntl.fcntl, file, fcntl.F_OFD_SETLK, lock(fcntl.F_RDLCK, number))
""",
        """
file = os.open(list(shared_files())[-1], os.O_RDONLY)
answers = [tried(fcntl.fcntl, file, fcntl.F_OFD_GETLK, lock(fcntl.F_WRLCK, number)) for number in range(64)]
bits = [None if answer is None else answer[:2] != lock(fcntl.F_UNLCK, 0)[:2] for answer in answers]
""",
    ),
    Pair(
        "asynchronous input",
        """
events = 32768
while events:
    if tried(aio_setup, events) is None:
        events //= 2
""",
        """
try:
    bits = [aio_setup(128)] * 64
except OSError as error:
    bits = [1 if error.errno == 11 else None] * 64
""",
        exhausts=True,
    ),
    Pair(
        "file notifications",
        "\nkept = [tried(call, 'inotify_init1', 0) for _ in range(200)]\n",
        """
try:
    bits = [call("inotify_init1", 0) < 0] * 64
except OSError as error:
    bits = [1 if error.errno == 24 else None] * 64
""",
        exhausts=True,
    ),
)


class Listener:
    """Sets an event when the sender has sent."""

    def __init__(self) -> None:
        self.feed = Feed()
        self.sent = threading.Event()

    def received(self, data: bytes) -> None:
        self.sent.set()


def spec(code: str) -> BoxSpec:
    limits = Limits(wall_seconds=20.0, cpu_seconds=10)
    return BoxSpec("attack-pair", ("python", "-c", code), (), limits=limits)


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(each, id=each.name, marks=[] if each.name == "page cache" else pytest.mark.attacks)
        for each in PAIRS
    ],
)
def test_nothing_passes_between_boxes(each_way: Sandbox, pair: Pair) -> None:
    secret = "1" * BITS if pair.exhausts else format(secrets.randbits(BITS), f"0{BITS}b")
    sender = f'SECRET = "{secret}"\n{COMMON}{pair.sender}\nprint("sent", flush=True)\nsys.stdin.read()'
    receiver = f'{COMMON}{pair.receiver}\nprint("".join("?" if bit is None else str(int(bit)) for bit in bits), end="")'
    listener = Listener()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(each_way.run, spec(sender), dialogue=listener)
        sending.add_done_callback(lambda _: listener.sent.set())
        try:
            listener.sent.wait()  # its box stays until the receiver has ended
            received = each_way.run(spec(receiver))
        finally:
            listener.feed.end()
        sent = sending.result()
    listener.feed.close()
    seen = received.stdout.decode()
    assert (sent.exit_code, received.exit_code, len(seen)) == (0, 0, BITS), (sent.stderr, received.stderr)
    assert sum(one == other for one, other in zip(seen, secret, strict=True)) < RECEIVED, seen
