"""Attacks on the machine's resources: exhaust them, or never release them."""

from __future__ import annotations

from typing import Final

from tests.attacks.corpus.attack import Attack, Group, sealed
from tests.attacks.corpus.library import read

# See library.read. Where the kernel kills only children, the answer itself is graded. In bubblewrap, only the limits
# of memory and time bound the number of inodes.
_TEXT: Final = r"""
fork bomb | timeout | stopped after 3 seconds | 3
    while True:
        try:
            os.fork()
        except OSError:
            pass
sleep | timeout | stopped after 3 seconds | 3
    time.sleep(600)
ignored signals | timeout | stopped after 3 seconds | 3
    for number in set(range(1, 65)) - {9, 19, 32, 33}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)
SIGSTOP | timeout | stopped after 3 seconds | 3
    if os.fork() == 0:
        os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(600)
closed stdout | timeout | stopped after 3 seconds | 3
    os.closerange(0, 256)
    time.sleep(600)
memory bomb | out_of_memory | used more than 256 MiB of memory
    return len(b'x' * 700_000_000)
memory bomb in children | out_of_memory wrong_output
    def hoard(number, size):
        told, tell = os.pipe()
        children = []
        for _ in range(number):
            pid = os.fork()
            if pid == 0:
                kept = b"x" * size
                os.write(tell, b"x")
                time.sleep(600)
            children.append(pid)
        os.set_blocking(told, False)
        holding = dead = 0
        while holding + dead < number:
            dead += os.waitpid(-1, os.WNOHANG)[0] > 0
            try:
                holding += len(os.read(told, number))
            except BlockingIOError:
                time.sleep(0.01)
        for pid in children:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        if not dead:
            escaped("the memory limit")
    ---
    if once():
        hoard(20, 40_000_000)
    return guess(scores, names)
deep recursion | out_of_memory raised
    sys.setrecursionlimit(2**31 - 1)

    def deeper(n):
        return [deeper(n + 1)]

    return deeper(0)
full /tmp | raised | No space left on device
    fill('/tmp', 20_000_000, 9)
    return scores, names
full /dev/shm | raised | No space left on device
    fill('/dev/shm', 5_000_000, 20)
    return scores, names
inodes | out_of_memory raised timeout | | 4
    fill('/tmp', 0, 10_000_000)
    return scores, names
large file | raised | File too large
    open('/tmp/large', 'wb').write(bytes(50_000_000))
    return scores, names
frame flood | output_limit tampering
    frames = b'{}\n' * 1000
    while True:
        send(frames)
stderr flood | wrong_output
    os.write(2, b'x' * 5_000_000)
    return guess(scores, names)
threads | raised | can't start new thread
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
zombies | raised | Resource temporarily unavailable
    while True:
        if os.fork() == 0:
            os._exit(0)
open files | raised | Too many open files
    kept = [open('/dev/null') for _ in range(100_000)]
    return kept
daemon | wrong_output
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', MARK])
        os._exit(0)
    return guess(scores, names)
segmentation fault | raised | killed by SIGSEGV
    ctypes.string_at(0)
"""

RESOURCES: Final[tuple[Attack, ...]] = tuple(
    Attack(name, Group.RESOURCES, source, sealed(*outcomes), reason_part=reason_part, wall_seconds=seconds)
    for name, source, outcomes, reason_part, seconds in read(_TEXT)
)
