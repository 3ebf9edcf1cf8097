"""Attacks from one box on another: pass bits through what the kernel keeps for both."""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from evaluator.sandbox.types import BoxSpec, Feed, Limits, SandboxError
from tests.attacks.corpus.kinds import ESCAPED, REFUSED, Attack, Group, PairAttack, Way, ends

if TYPE_CHECKING:
    from evaluator.sandbox.types import Sandbox

BITS: Final = 64
RECEIVED: Final = 56
"""So many right bits are no accident: guessing reaches it less than once in a billion tries."""

_LIMITS: Final = Limits(wall_seconds=20.0, cpu_seconds=10)
_COMMON: Final = """
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
_SENT: Final = """
print("sent", flush=True)
sys.stdin.read()
"""
_BITS_OF: Final = """
print("".join("?" if bit is None else str(int(bit)) for bit in bits))
"""


def _pair(name: str, sender: str, receiver: str, *, exhausts: bool = False) -> PairAttack:
    return PairAttack(
        name,
        Group.ESCAPE,
        {Way.BOX: ends(REFUSED)},
        sender=f"{_COMMON}{sender}{_SENT}",
        receiver=f"{_COMMON}{receiver}{_BITS_OF}",
        exhausts=exhausts,
    )


BETWEEN: Final[tuple[Attack, ...]] = (
    _pair(
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
    _pair(
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
    _pair(
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
    _pair(
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
    _pair(
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


class _Sender:
    """Listens to the sender's box; see :class:`evaluator.sandbox.types.Dialogue`."""

    def __init__(self) -> None:
        self.feed = Feed()
        self.sent = threading.Event()

    def received(self, data: bytes) -> None:
        self.sent.set()


def pass_bits(attack: PairAttack, sandbox: Sandbox, *, label: str, environment: str) -> tuple[str, str]:
    """Outcome and reason: whether the receiver made out what the sender sent. Raises :class:`SandboxError`."""
    secret = "1" * BITS if attack.exhausts else format(secrets.randbits(BITS), f"0{BITS}b")

    def spec(name: str, code: str) -> BoxSpec:
        return BoxSpec(f"{label}-{name}", ("python", "-c", code), (), limits=_LIMITS, environment=environment)

    sender = _Sender()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(sandbox.run, spec("sender", f"SECRET = {secret!r}\n{attack.sender}"), dialogue=sender)
        sending.add_done_callback(lambda _: sender.sent.set())
        try:
            sender.sent.wait()
            received = sandbox.run(spec("receiver", attack.receiver))
        finally:
            sender.feed.end()
        sent = sending.result()
    sender.feed.close()
    seen = received.stdout.decode(errors="replace").strip()
    if (sent.exit_code, received.exit_code, len(seen)) != (0, 0, BITS):
        errors = (sent.stderr + received.stderr).decode(errors="replace")
        raise SandboxError(f"a program did not end as it should: {sent.ending}, {received.ending}. {errors}")
    right = sum(one == other for one, other in zip(seen, secret, strict=True))
    return (ESCAPED, f"{right} of {BITS} bits came through") if right >= RECEIVED else (REFUSED, seen)
