"""Fork programs from a process that has already imported a box's packages, each with its own isolation.

The server itself runs confined by bubblewrap, with the environment's Python, which may be an older one. It imports no
other module of the site, and never sees an answer or its result; only its forks do. For each connection to its socket
it receives the descriptors of one order, and forks twice:

- a process that reads the order, creates user and process namespaces, and finally checks whether the box's memory has
  been returned;
- the first process in these, which creates namespaces for mounts, network, IPC, host name and control groups, hides
  what boxes may not see, makes the rest read-only, drops all capabilities, loads the call filter, forks the program,
  waits, and reports. When it ends, the kernel kills all processes that the program left.

The program gets its standard streams and no other descriptor. The server only reports when the box is gone. A
connection that is closed before that means that the box is unwanted: this process ends, and everything with it.

Every program gets a copy of the server's memory. The server therefore reads nothing that depends on earlier programs:
no order, no report, no counter, and no clock, which would reveal when the last one ended.

Arguments: the folder for its socket and its messages, the call filter's file, how many seconds it waits for an order
before it ends, and the modules to import besides NumPy, which every box needs.
"""

from __future__ import annotations

import sys
from contextlib import suppress

if __name__ == "__main__":
    import importlib.util
    import shutil  # noqa: F401
    import traceback  # noqa: F401

    with suppress(ImportError):
        import numpy as np  # noqa: F401
_USUAL = frozenset(name.partition(".")[0] for name in sys.modules)
"""Packages that every box program has imported before it touches an answer's files."""

import builtins
import ctypes
import fcntl
import gc
import importlib.machinery
import io
import json
import os
import random
import resource
import select
import signal
import socket
import struct
import time
from pathlib import Path
from types import ModuleType
from typing import Any

SOCKET = "socket"
MODULES = "modules.json"
FAILED = "failed.txt"
STREAMS = 3
GIVEN = STREAMS + 2
"""Number of descriptors per connection: the program's streams, a file with its order, and a pipe for the report.

Lines of the report are JSON objects: ``begun`` when the program is about to start; then ``status`` (as ``wait`` returns
it) and ``cpu_seconds``; then ``oom_kills`` in the meantime, and whether the box is ``clean``. If the program could not
start, ``failed`` has the reason, and ``passes`` is true if it is temporary.
"""

GROUP = "/sys/fs/cgroup"
"""Where this box sees its control group for memory."""

WORKING_FOLDER = "/tmp"  # noqa: S108 - the program's own tmpfs

_OUTER_NAMESPACES = 0x10000000 | 0x20000000
_INNER_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x40000000 | 0x2000000
"""User and processes; mounts, host name, IPC, network, control groups, gone with the box's last process."""

_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXECUTION, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_SET_DUMPABLE, _SET_SECCOMP, _DROP_BOUND, _AMBIENT, _CLEAR_AMBIENT = 4, 22, 24, 47, 4
_FILTER_MODE = 2
_INSTRUCTION_BYTES = 8
_CAPABILITY_VERSION = 0x20080522
_SET_MOUNT_ATTRIBUTES = 442  # the call's number on every architecture; older C libraries lack its name
_WORKING_DIRECTORY, _RECURSIVE, _ATTRIBUTE_READ_ONLY = -100, 0x8000, 1
_SET_INTERFACE_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41

_HIDDEN_FOLDERS = ("/proc/acpi", "/proc/asound", "/proc/scsi", "/sys")
_HIDDEN_FILES = ("kcore", "keys", "latency_stats", "timer_list", "timer_stats", "sched_debug")
_READ_ONLY_PLACES = ("bus", "fs", "irq", "sys", "sysrq-trigger")

_HELD_BYTES = 8 * 2**20
"""How much more memory the group may hold after a program than before the first one."""

_CLEAN_TRIES, _CLEAN_SECONDS = 100, 0.01
"""How often, and at which interval, to check whether the kernel has returned a box's memory."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def main(folder: str, filter_file: str, idle_seconds: str, *modules: str) -> dict[str, Any]:
    """Serve orders until none comes for a while, then end the process. Returns the order in a program's process."""
    try:
        # A program may signal its box's first process, which is a copy of this one and inherits its handlers.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _require_no_capabilities()
        call_filter = Path(filter_file).read_bytes()
        for name in modules:
            with suppress(Exception):  # imported only for speed: a program that needs it reports the error itself
                importlib.import_module(name)
        for name in _seeded():  # NumPy would otherwise import it in every fork, to seed it
            importlib.import_module(f"{name}.random")
        sys.stdout.flush()  # output of imports must not appear in a program's output
        loaded = {name.partition(".")[0] for name in sys.modules} - _USUAL
        gc.collect()
        gc.freeze()  # frozen objects are never written by the collector, so they stay shared with every fork
        group = os.open(GROUP, os.O_PATH | os.O_DIRECTORY)
        clean_bytes = _held_bytes(group) + _HELD_BYTES
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        usual = os.umask(0o111)  # access is restricted by the folder
        listener.bind(f"{folder}/{SOCKET}")
        os.umask(usual)
        Path(folder, MODULES).write_text(json.dumps(sorted(loaded)))
        listener.listen()
    except Exception as error:
        Path(folder, FAILED).write_text(f"{type(error).__name__}: {error}")
        raise
    _end_in(float(idle_seconds))
    while True:
        connection, _ = listener.accept()
        _, given, _, _ = socket.recv_fds(connection, 1, GIVEN)
        if len(given) == GIVEN:  # otherwise a probe of whether the server answers: no reason to stay longer
            _end_in(0.0)
            if not _serve(connection, given):
                for held in (connection, listener):
                    os.close(held.detach())
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                return _enter(given, folder, call_filter, group, clean_bytes)
            _end_in(float(idle_seconds))
        connection.close()


def _end_in(seconds: float) -> None:
    """End this process after ``seconds``, or never for 0. Python's own call would return the previous timer's rest."""
    _call("setitimer", 0, struct.pack("4l", 0, 0, int(seconds), int(seconds % 1 * 1e6)), None)


def _serve(connection: socket.socket, given: list[int]) -> bool:
    """Fork for one order and wait until its box is gone; in the fork itself return ``False`` at once."""
    child = os.fork()
    if child == 0:
        return False
    for descriptor in given:
        os.close(descriptor)
    ended = os.pidfd_open(child)
    if connection.fileno() in select.select([connection.fileno(), ended], [], [])[0]:
        os._exit(1)
    os.close(ended)
    os.waitpid(child, 0)
    connection.send(b" ")
    return True


def _enter(given: list[int], folder: str, call_filter: bytes, group: int, clean_bytes: int) -> dict[str, Any]:
    """Become the order's isolated program; only that process returns from here."""
    *streams, order_file, report = given
    try:
        with os.fdopen(order_file, "rb") as file:
            order: dict[str, Any] = json.loads(file.read())
        kills = _oom_kills(group)
        identity = {"uid_map": os.getuid(), "gid_map": os.getgid()}
        _call("unshare", _OUTER_NAMESPACES)
        Path("/proc/self/setgroups").write_text("deny")
        for name, number in identity.items():
            Path("/proc/self", name).write_text(f"{number} {number} 1")
        first = os.fork()
        if first:
            for descriptor in streams:
                os.close(descriptor)
            os.waitpid(first, 0)  # when it ends, the kernel has killed and reaped all others
            clean = _memory_returned(group, clean_bytes)
            _report(report, oom_kills=_oom_kills(group) - kills, clean=clean)
            os._exit(0)
        _call("unshare", _INNER_NAMESPACES)
        _hide(order, folder)
        if order["loopback"]:
            _bring_up_loopback()
        _drop_capabilities()
        _load_filter(call_filter)
        _call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)
        program = os.fork()
        if program:
            for descriptor in streams:
                os.close(descriptor)
            _wait_for(program, report)
        _take_limits(order)
        _report(report, begun=True)
    except BaseException as error:  # noqa: BLE001 - the host logs the reason and starts this box another way
        _report(report, failed=f"{type(error).__name__}: {error}", passes=isinstance(error, MemoryError))
        os._exit(1)
    _reset_interpreter(streams)
    return order


def _report(report: int, **what: object) -> None:
    os.write(report, json.dumps(what).encode() + b"\n")


def _hide(order: dict[str, Any], folder: str) -> None:
    """Mount the program's own folders, and hide every folder that could carry information to the next program."""
    usual = _NO_SETUID | _NO_DEVICES
    # In all existing mounts, not even access times may change.
    attributes = struct.pack("4Q", _ATTRIBUTE_READ_ONLY, 0, 0, 0)
    numbers = (_SET_MOUNT_ATTRIBUTES, _WORKING_DIRECTORY, _RECURSIVE, len(attributes))
    call, start, recursive, size = map(ctypes.c_long, numbers)
    _call("syscall", call, start, b"/", recursive, attributes, size, of="mount_setattr")
    _mount("tmpfs", WORKING_FOLDER, usual, order["tmpfs"])
    _mount("tmpfs", "/dev/shm", usual, order["shared_memory"])  # noqa: S108 - its own
    _mount("devpts", "/dev/pts", _NO_SETUID | _NO_EXECUTION, "newinstance,ptmxmode=0666,mode=620,max=16")
    _mount("proc", "/proc", usual | _NO_EXECUTION)
    for place in (*_HIDDEN_FOLDERS, folder):
        if Path(place).is_dir():
            _mount("tmpfs", place, usual | _NO_EXECUTION | _READ_ONLY, "size=4k,mode=555")
    for name in _HIDDEN_FILES:
        if Path("/proc", name).exists():
            _mount("/dev/null", f"/proc/{name}", _BIND)
    for name in _READ_ONLY_PLACES:
        if Path("/proc", name).exists():
            _mount(f"/proc/{name}", f"/proc/{name}", _BIND)
            _mount("none", f"/proc/{name}", _BIND | _REMOUNT | _READ_ONLY | usual | _NO_EXECUTION)


def _mount(source: str, target: str, flags: int, options: str = "") -> None:
    _call(
        "mount", source.encode(), target.encode(), source.encode(), ctypes.c_ulong(flags), options.encode(), of=target
    )


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_INTERFACE_FLAGS, struct.pack("16sh22x", b"lo", _UP_AND_RUNNING))


def _drop_capabilities() -> None:
    for capability in range(64):
        if _libc.prctl(_DROP_BOUND, capability, 0, 0, 0) != 0:
            break  # the kernel has no more capabilities
    _call("prctl", _AMBIENT, _CLEAR_AMBIENT, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _call("capset", header, bytes(24))
    _require_no_capabilities()


def _require_no_capabilities() -> None:
    """Raise :class:`PermissionError` unless this process has no capability and can gain none by a program's file."""
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    sets = ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd")
    if any(int(status[name], 16) for name in sets) or status["NoNewPrivs"] != "1" or os.getuid() == 0:
        raise PermissionError("the process has capabilities, or could gain some")


def _load_filter(code: bytes) -> None:
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // _INSTRUCTION_BYTES, ctypes.cast(buffer, ctypes.c_void_p))
    if _libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0) != 0:
        raise MemoryError(f"the kernel has no room for the call filter: {os.strerror(ctypes.get_errno())}")


def _call(name: str, *arguments: Any, of: str = "") -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name} {of}: {os.strerror(number)}")


def _wait_for(program: int, report: int) -> None:
    """As the box's first process, wait for the program and all orphans, report its end, and end the box."""
    while True:
        child, status, usage = os.wait4(-1, 0)
        if child == program:
            _report(report, status=status, cpu_seconds=usage.ru_utime + usage.ru_stime)
            os._exit(0)


def _take_limits(order: dict[str, Any]) -> None:
    _call("prctl", _SET_DUMPABLE, 1, 0, 0, 0)
    os.setsid()
    Path("/proc/self/oom_score_adj").write_text("1000")  # killed before its parent, which serves others afterwards
    resource.setrlimit(resource.RLIMIT_CPU, (order["cpu_seconds"], order["cpu_seconds"] + 1))
    os.chdir(WORKING_FOLDER)
    os.umask(0o022)


def _reset_interpreter(streams: list[int]) -> None:
    """Make this process like a fresh interpreter that is about to start the program."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        _renew_stream(name, mode)
    os.closerange(STREAMS, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a shell makes background processes ignore it
    random.seed()
    for name in _seeded():
        sys.modules[name].random.seed()
    if "_ssl" in sys.modules:
        sys.modules["_ssl"].RAND_add(os.urandom(32), 32.0)  # it detects forks by pid, and this pid is the server's


def _seeded() -> set[str]:
    """Return the imported packages that have a generator of random numbers for the whole process."""
    return sys.modules.keys() & {"numpy", "torch"}


def _renew_stream(name: str, mode: str) -> None:
    """Recreate the interpreter's stream ``name``, which caches properties of its original descriptor."""
    old: Any = getattr(sys, name)
    raw: Any = io.FileIO(old.fileno(), mode, closefd=False)
    raw.name = f"<{name}>"
    new: Any = io.TextIOWrapper(
        io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw),
        encoding=old.encoding,
        errors=old.errors,
        newline="\n",
        line_buffering=old.line_buffering,
    )
    new.mode = mode
    setattr(sys, name, new)
    setattr(sys, f"__{name}__", new)


def _counters(group: int, *names: str) -> dict[str, int]:
    """Return the counters of the first of ``names`` that the kernel has; a lone number has the key ``""``."""
    for name in names:
        with suppress(FileNotFoundError):
            with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=group)) as file:
                pairs = [line.rpartition(" ") for line in file.read().splitlines()]
            return {key: int(value) for key, _, value in pairs}
    raise FileNotFoundError(f"the control group has none of {names}")


def _held_bytes(group: int) -> int:
    """Return how much memory the group holds and cannot release: file pages do not count."""
    used = _counters(group, "memory.usage_in_bytes", "memory.current")[""]
    return used - sum(_counters(group, "memory.stat")[name] for name in ("active_file", "inactive_file"))


def _memory_returned(group: int, most: int) -> bool:
    """Return whether an ended box's memory comes back within a second: the kernel frees some only after the end."""
    for _ in range(_CLEAN_TRIES):
        if _held_bytes(group) <= most:
            return True
        time.sleep(_CLEAN_SECONDS)
    return False


def _oom_kills(group: int) -> int:
    """Return how often the kernel killed a process of this box for lack of memory."""
    return _counters(group, "memory.oom_control", "memory.events")["oom_kill"]


def run(argv: list[str]) -> None:
    """Do what the interpreter does with ``argv``: ``-c`` and a text, or a file, and its arguments."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __annotations__={})
    if argv[0] == "-c":
        source: str | bytes = argv[1]
        name, sys.argv = "<string>", ["-c", *argv[2:]]
        module.__loader__ = importlib.machinery.BuiltinImporter
    else:
        source = Path(argv[0]).read_bytes()
        name = module.__dict__["__file__"] = argv[0]
        sys.argv = argv
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", name)
    sys.modules["__main__"] = module
    try:
        exec(compile(source, name, "exec"), module.__dict__)  # noqa: S102 - running this is the box's purpose
    except Exception as error:  # noqa: BLE001
        # Like the interpreter, without the frames of this file.
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


if __name__ == "__main__":
    run(main(*sys.argv[1:])["argv"])
