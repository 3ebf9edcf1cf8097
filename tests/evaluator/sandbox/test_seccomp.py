"""Sockets, options and filters that the call filter allows: by evaluating the filter, and in boxes of every kind."""

from __future__ import annotations

import errno
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.sandbox import seccomp
from evaluator.sandbox.box import LocalSandbox
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.cgroups import SOCKET_BYTES
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import REQUIREMENTS, EnvironmentEntry, EnvironmentList
from evaluator.sandbox.interface import Limits, Sandbox
from tests.evaluator.forked import ForkedBubblewrap
from tests.evaluator.sandbox.boxes import run

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

ON_X86_64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the call numbers here are those of x86-64")
ARCHITECTURE = 0xC000003E
SOCKET, SOCKETPAIR, SET_OPTION, PRCTL, SECCOMP = 41, 53, 54, 157, 317
ALLOWED = 0
UNIX, NETLINK, INTERNET = 1, 16, (2, 10)
FILTERS = (26, 50, 51, 52)
HALF = st.integers(0, 2**32 - 1)
WORD = st.builds(lambda low, high: low | high << 32, HALF | st.integers(0, 300), st.just(0) | HALF)


def decide(loopback: bool, call: int, *arguments: int) -> int:
    """The error that the filter returns for the call, evaluated step by step as the kernel does."""
    data = struct.pack("<IIQ6Q", call, ARCHITECTURE, 0, *(*arguments, *[0] * 6)[:6])
    steps = list(struct.iter_unpack("<HBBI", seccomp.deny_filter(loopback=loopback)))
    value = place = 0
    while True:
        code, true, false, number = steps[place]
        place += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, number)
        elif code == 0x54:
            value &= number
        elif code == 0x05:
            place += number
        elif code == 0x06:
            return ALLOWED if number == 0x7FFF0000 else number & 0xFFFF
        else:
            met = {0x15: value == number, 0x25: value > number, 0x35: value >= number}[code]
            place += true if met else false


@ON_X86_64
@given(st.booleans(), st.sampled_from((SOCKET, SOCKETPAIR)), WORD, WORD, WORD)
def test_only_unix_sockets_and_those_of_loopback_pass(
    loopback: bool, call: int, family: int, kind: int, protocol: int
) -> None:
    decided = decide(loopback, call, family, kind, protocol)
    if family == UNIX:
        assert decided == ALLOWED
    elif loopback and family in INTERNET:
        assert decided == (ALLOWED if protocol in {0, 6, 17} else errno.EPROTONOSUPPORT)
    else:
        assert decided == errno.EAFNOSUPPORT


@ON_X86_64
@pytest.mark.parametrize("loopback", [False, True])
def test_every_existing_family_and_protocol(loopback: bool) -> None:
    pairs = [(family, protocol) for family in range(64) if family != UNIX for protocol in range(300)]
    passed = [(family, protocol) for family, protocol in pairs if not decide(loopback, SOCKET, family, 1, protocol)]
    assert passed == [(family, protocol) for family in INTERNET if loopback for protocol in (0, 6, 17)]


@ON_X86_64
@given(st.booleans(), HALF, HALF, HALF)
def test_no_filter_is_loaded_whatever_the_upper_halves_contain(
    loopback: bool, first: int, second: int, option: int
) -> None:
    for number in FILTERS:
        assert decide(loopback, SET_OPTION, 3, first << 32 | 1, second << 32 | number) == errno.EPERM
        assert decide(loopback, SET_OPTION, 3, first << 32 | 6, second << 32 | number) == ALLOWED  # SOL_TCP
    assert decide(loopback, SET_OPTION, 3, 1, option) == (errno.EPERM if option in FILTERS else ALLOWED)
    assert decide(loopback, PRCTL, first << 32 | 22, 2) == errno.EPERM
    assert decide(loopback, PRCTL, option) == (errno.EPERM if option == 22 else ALLOWED)
    assert decide(loopback, SECCOMP, option) == errno.EPERM


# Reports the sockets that a program can make, and the errors of what it tries.
LOOK = """
    import ctypes, errno, json, os, socket, struct
    libc = ctypes.CDLL(None, use_errno=True)
    made = []
    for family in range(64):
        for kind in (1, 2, 5):
            for protocol in (0, 6, 17, 132, 136, 262):
                number = libc.socket(family, kind, protocol)
                if number >= 0:
                    made.append([family, kind, protocol])
                    os.close(number)
    steps = struct.pack("HBBI", 6, 0, 0, 0x7FFF0000)
    buffer = ctypes.create_string_buffer(steps, len(steps))
    program = ctypes.create_string_buffer(struct.pack("Hxxxxxxq", 1, ctypes.addressof(buffer)), 16)
    errors = {}
    def attempt(name, result):
        errors[name] = errno.errorcode[ctypes.get_errno()] if result < 0 else "ok"
    one, other = socket.socketpair()
    for option in (26, 50, 51, 52):
        attempt(option, libc.setsockopt(one.fileno(), 1, option, program, 16))
    attempt("prctl", libc.prctl(22, 2, program, 0, 0))
    attempt("seccomp", libc.syscall(317 if os.uname().machine == "x86_64" else 277, 1, 0, program))
    attempt("internet", libc.socket(2, 1, 0))
    attempt("multipath", libc.socket(2, 1, 262))
    attempt("netlink", libc.socket(16, 3, 0))
    print(json.dumps({"made": made, "errors": errors}))
"""
UNIX_ONES = [[1, kind, 0] for kind in (1, 2, 5)]
INTERNET_ONES = [[family, *pair] for family in INTERNET for pair in ((1, 0), (1, 6), (2, 0), (2, 17))]
REFUSED = dict.fromkeys([*map(str, FILTERS), "prctl", "seccomp"], "EPERM")


@pytest.mark.smoke
def test_a_box_has_unix_sockets_only(sandbox: Sandbox) -> None:
    found = json.loads(run(sandbox, LOOK).stdout)
    assert found["made"] == UNIX_ONES
    none = dict.fromkeys(["internet", "multipath", "netlink"], "EAFNOSUPPORT")
    assert found["errors"] == REFUSED | none


def test_libraries_do_without_a_network(sandbox: Sandbox) -> None:
    code = """
        import asyncio, concurrent.futures, multiprocessing, socket, ssl, urllib.request
        async def add(): return await asyncio.to_thread(int, "3")
        print(asyncio.run(add()), socket.has_ipv6 in (True, False))
        with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(abs, [-1, -2]))
        with concurrent.futures.ProcessPoolExecutor(1) as pool: print(pool.submit(abs, -3).result())
        print(socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)[0][4])
        for act in (lambda: urllib.request.urlopen("http://example.org", timeout=1), socket.if_nameindex,
                    lambda: socket.create_connection(("127.0.0.1", 80)), lambda: socket.getaddrinfo("example.org", 80)):
            try:
                act()
            except OSError as error:
                print(type(error).__name__)
        print(socket.gethostname())
    """
    result = run(sandbox, code)
    lines = result.stdout.decode().splitlines()
    assert lines[:4] == ["3 True", "[1, 2]", "3", "('127.0.0.1', 80)"], result.stderr
    assert lines[4:] == ["URLError", "OSError", "OSError", "gaierror", "box"]


def parameters(*kinds: type[LocalSandbox]) -> list[ParameterSet]:
    return [pytest.param(kind, marks=getattr(pytest.mark, kind.name)) for kind in kinds]


@pytest.fixture(params=parameters(BubblewrapSandbox, DockerSandbox, ForkedBubblewrap))
def looped(request: pytest.FixtureRequest, state_dir: Path) -> Iterator[LocalSandbox]:
    """Each sandbox, started and forked, with an environment that has loopback."""
    kind = request.param
    request.getfixturevalue(kind.name)
    entry = EnvironmentEntry("numpy", requirements=REQUIREMENTS / "box-numpy.txt", network="loopback")
    options = {"fork_idle_seconds": 60.0} if kind is ForkedBubblewrap else {}
    sandbox = kind(state_dir, environments=EnvironmentList((entry,)), **options)
    yield sandbox
    if isinstance(sandbox, ForkedBubblewrap):
        sandbox.stop_servers()


def test_an_environment_may_have_loopback(looped: LocalSandbox, request: pytest.FixtureRequest) -> None:
    usual: LocalSandbox = request.getfixturevalue(looped.name)
    assert looped.environment_digest("numpy") != usual.environment_digest("numpy")
    found = json.loads(run(looped, LOOK).stdout)
    assert found["made"] == sorted([*UNIX_ONES, *INTERNET_ONES])
    others = {"internet": "ok", "multipath": "EPROTONOSUPPORT", "netlink": "EAFNOSUPPORT"}
    assert found["errors"] == REFUSED | others
    code = """
        import errno, socket, threading
        with socket.create_server(("127.0.0.1", 0)) as server:
            there = socket.create_connection(server.getsockname())
            here, _ = server.accept()
            there.sendall(b"across")
            print(here.recv(10))
        for address in ("1.1.1.1", "172.17.0.1"):
            try:
                socket.create_connection((address, 80), 2)
            except OSError as error:
                print(errno.errorcode[error.errno])
    """
    assert run(looped, code).stdout == b"b'across'\nENETUNREACH\nENETUNREACH\n"


@pytest.mark.parametrize("looped", parameters(BubblewrapSandbox, ForkedBubblewrap), indirect=True)
@pytest.mark.parametrize("kind", ["STREAM", "DGRAM"])
def test_the_memory_of_loopback_sockets_is_limited(looped: LocalSandbox, kind: str) -> None:
    """Version 1 has a separate limit, which Docker's engine does not set; with version 2 the box's limit applies."""
    code = f"""
        import socket
        kept, held = [], 0
        listener = socket.socket(type=socket.SOCK_{kind})
        listener.bind(("127.0.0.1", 0))
        {"listener.listen()" if kind == "STREAM" else ""}
        for _ in range(40):
            one = socket.socket(type=socket.SOCK_{kind})
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                one.setsockopt(socket.SOL_SOCKET, option, 2**26)
            {"" if kind == "STREAM" else "one.bind(('127.0.0.1', 0))"}
            one.connect({"listener" if kind == "STREAM" else "one"}.getsockname())
            kept.append((one, {"listener.accept()[0]" if kind == "STREAM" else "one"}))
            one.settimeout(0.05)
            try:
                for _ in range(4000):
                    one.send(bytes(1000))
            except OSError:
                pass
        # What can be read back was held; the kernel's own count is that of all programs on the machine.
        for _, reader in kept:
            reader.settimeout(0.05)
            try:
                while part := reader.recv(2**16):
                    held += len(part)
            except OSError:
                pass
        print(held)
    """
    limits = Limits(wall_seconds=60.0, cpu_seconds=30, memory_bytes=128 * 2**20)
    apart = Path("/sys/fs/cgroup/memory/memory.kmem.tcp.usage_in_bytes").exists()
    held = int(run(looped, code, limits=limits).stdout or 0)
    assert 0 < held < SOCKET_BYTES if apart else held < limits.memory_bytes
