"""What a program in either sandbox cannot reach, and what it can."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from evaluator.sandbox.types import Ending, Limits, Mount, Sandbox, SandboxError
from tests.evaluator.sandbox.boxes import run

MEBIBYTE = 1024 * 1024

ATTEMPT = """
import errno
def attempt(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return "ok"
"""

CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(argument) for argument in arguments])
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""


def test_the_network_is_out_of_reach(sandbox: Sandbox) -> None:
    code = f"""{ATTEMPT}
import socket
print(attempt(lambda: socket.create_connection(("169.254.169.254", 80), 2)))
print(attempt(lambda: socket.create_connection(("172.17.0.1", 2375), 2)))
print(attempt(lambda: socket.create_connection(("127.0.0.1", 6379), 2)))
try:
    socket.getaddrinfo("example.org", 80)
except socket.gaierror:
    print("no names")
print([name for _, name in socket.if_nameindex()])
"""
    lines = run(sandbox, code).stdout.decode().splitlines()
    assert lines[:4] == ["ENETUNREACH", "ENETUNREACH", "ECONNREFUSED", "no names"]
    assert "eth0" not in lines[4]


def test_a_socket_of_the_host_is_out_of_reach(sandbox: Sandbox) -> None:
    name = f"host-abstract-socket-{os.getpid()}"  # the host's, and so that of every process that tests
    code = f"""{ATTEMPT}
import socket
def connect(path):
    return attempt(lambda: socket.socket(socket.AF_UNIX).connect(path))
print(connect("/var/run/docker.sock"), connect("\\0{name}"))
"""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        assert run(sandbox, code).stdout == b"ENOENT ECONNREFUSED\n"


def test_nothing_but_tmp_and_shm_can_be_written(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("given")
    code = f"""{ATTEMPT}
import pathlib
for place in ("/x", "/usr/x", "/box/x", "/box/task/x", "/box/task/given", "/dev/x", "/proc/x", "/tmp/x", "/dev/shm/x"):
    print(place, attempt(lambda: pathlib.Path(place).write_text("x")))
"""
    result = run(sandbox, code, mounts=(Mount(tmp_path, "/box/task"),))
    outcomes = dict(line.split() for line in result.stdout.decode().splitlines())
    assert [place for place, outcome in outcomes.items() if outcome == "ok"] == ["/tmp/x", "/dev/shm/x"]
    assert set(outcomes.values()) <= {"ok", "EROFS", "EACCES", "ENOENT"}
    assert (tmp_path / "given").read_text() == "given"


def test_a_mount_is_seen_as_it_is_even_below_a_private_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    private = tmp_path / "home" / "checkout"
    (private / "package").mkdir(parents=True)
    (private / "package" / "module.py").write_text("answer = 42\n")
    (private / "secret-mode.txt").write_text("readable inside")
    (private / "secret-mode.txt").chmod(0o600)
    private.parent.chmod(0o700)
    code = """
        import sys; sys.path.insert(0, "/box/task")
        from package import module
        print(module.answer, open("/box/task/secret-mode.txt").read(), open("/box/one.txt").read())
    """
    mounts = (Mount(private, "/box/task"), Mount(private / "secret-mode.txt", "/box/one.txt"))
    result = run(sandbox, code, mounts=mounts)
    assert result.stdout == b"42 readable inside readable inside\n", result.stderr


def test_secrets_of_the_host_are_not_there(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "host-secret-value")
    secret = tmp_path / "root-only"
    secret.write_text("host-secret-value")
    secret.chmod(0o600)
    code = f"""
        import os, pathlib
        found = []
        for folder, _, files in os.walk("/"):
            if folder.startswith("/proc/") and folder.count("/") > 2 or folder.startswith("/sys"):
                continue
            found += [name for name in files if name == "root-only"]
        print(found, os.path.exists({str(secret)!r}), os.access("/etc/shadow", os.R_OK))
        print("host-secret-value" in str(os.environ))
        print(b"host-secret-value" in pathlib.Path("/proc/1/environ").read_bytes())
        print(os.getuid(), os.getgid(), set(os.getgroups()) <= {{65534}}, os.access("/root", os.R_OK))
    """
    lines = run(sandbox, code).stdout.decode().splitlines()
    assert lines == ["[] False False", "False", "False", "65534 65534 True False"]


def test_no_other_user_can_be_become_and_no_other_root(sandbox: Sandbox) -> None:
    code = f"""{ATTEMPT}
import os
print(attempt(lambda: os.setuid(0)) in ("EPERM", "EINVAL"), attempt(lambda: os.chroot("/tmp")), os.getuid())
"""
    assert run(sandbox, code).stdout == b"True EPERM 65534\n"


def test_dangerous_calls_are_denied(sandbox: Sandbox) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the call numbers in this test are those of x86-64")
    numbers = {
        "keyctl": (250, 0, -3, 0), "add_key": (248, 0, 0, 0), "bpf": (321, 0, 0, 0), "io_uring_setup": (425, 1, 0),
        "ptrace": (101, 0, 0, 0, 0), "mount": (165, 0, 0, 0, 0, 0), "unshare_user": (272, 0x10000000),
        "userfaultfd": (323, 0), "perf_event_open": (298, 0, 0, -1, -1, 0), "kexec_load": (246, 0, 0, 0, 0),
        "process_vm_readv": (310, 1, 0, 0, 0, 0, 0), "setns": (308, 0, 0), "open_by_handle_at": (304, 0, 0, 0),
        "clone_user": (56, 0x10000000 | 17, 0, 0, 0, 0), "vsock": (41, 40, 1, 0), "alg": (41, 38, 5, 0),
        "packet": (41, 17, 3, 0), "high_family": (41, (1 << 32) | 40, 1, 0), "pivot_root": (155, 0, 0),
    }  # fmt: skip
    code = f"{CALL}\nimport json\nprint(json.dumps({{k: call(*v) for k, v in {numbers!r}.items()}}))"
    outcomes = json.loads(run(sandbox, code).stdout)
    assert outcomes == dict.fromkeys(numbers, "EPERM")


def test_what_boxes_would_share_in_the_kernel_looks_unknown(sandbox: Sandbox) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the call numbers in this test are those of x86-64")
    upper_half = 1 << 32  # the kernel reads an int argument's lower half, and a filter must too
    numbers = {
        "fadvise64": (221, 0, 0, 0, 4), "preadv2": (327, 0, 0, 0, 0, 0, 8), "pwritev2": (328, 1, 0, 0, 0, 0, 8),
        "mincore": (27, 0, 0, 0), "cachestat": (451, 0, 0, 0, 0), "flock": (73, 0, 6), "io_setup": (206, 1, 0),
        "inotify_init": (253,), "inotify_init1": (294, 0),
        "pageout": (28, 0, 0, 21), "high_pageout": (28, 0, 0, upper_half | 21),
        **{f"fcntl_{command}": (72, 0, command, 0) for command in (5, 6, 7, 36, 37, 38, 1024, 1025, 1026)},
        "high_fcntl": (72, 0, upper_half | 6, 0),
    }  # fmt: skip
    code = f"{CALL}\nimport json\nprint(json.dumps({{k: call(*v) for k, v in {numbers!r}.items()}}))"
    outcomes = json.loads(run(sandbox, code).stdout)
    assert outcomes == dict.fromkeys(numbers, "ENOSYS")


def test_programs_do_without_what_is_denied(sandbox: Sandbox) -> None:
    code = """
        import fcntl, mmap, os, sqlite3, tempfile
        import numpy as np
        file = tempfile.TemporaryFile()
        file.write(b"0123456789")
        file.flush()
        parts = [bytearray(2), bytearray(3)]
        print(os.preadv(file.fileno(), parts, 4), parts)
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_NONBLOCK)
        mmap.mmap(-1, 8192).madvise(mmap.MADV_DONTNEED)
        np.save("/tmp/a.npy", np.arange(5000))
        print(int(np.load("/tmp/a.npy", mmap_mode="r").sum()))
        print(sqlite3.connect(":memory:").execute("select 1").fetchone())
    """
    result = run(sandbox, code)
    assert result.stdout == b"5 [bytearray(b'45'), bytearray(b'678')]\n12497500\n(1,)\n", result.stderr


def test_clone3_looks_unknown_so_that_threads_still_start(sandbox: Sandbox) -> None:
    code = f"""{CALL}
import threading
thread = threading.Thread(target=print, args=("thread ran",), kwargs={{"flush": True}})
thread.start(); thread.join()
print(call(435, 0, 0))
"""
    assert run(sandbox, code).stdout == b"thread ran\nENOSYS\n"


def test_calls_of_the_32_bit_abi_kill(sandbox: Sandbox) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("only x86-64 has a 32-bit ABI beside its own")
    code = """
        import ctypes, mmap
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(bytes.fromhex("b814000000cd80c3"))  # getpid through int 0x80
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        print("alive")
    """
    result = run(sandbox, code)
    assert (result.ending, result.signal, result.stdout) == (Ending.SIGNALLED, 31, b"")


def test_the_first_process_cannot_be_killed_and_is_filtered_too(sandbox: Sandbox) -> None:
    code = """
        import os, re
        for number in (9, 15, 19):
            try:
                os.kill(1, number)
            except PermissionError:
                pass
        print(re.search(r"Seccomp:\\t(\\d)", open("/proc/1/status").read())[1])
    """
    assert run(sandbox, code).stdout == b"2\n"


def test_it_sees_only_its_own_processes_and_files(sandbox: Sandbox) -> None:
    code = "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]), sorted(os.listdir('/proc/self/fd')))"
    assert run(sandbox, code).stdout == b"2 ['0', '1', '2', '3']\n"


def test_capabilities_are_none_and_cannot_come_back(sandbox: Sandbox) -> None:
    code = """
        import re
        status = open("/proc/self/status").read()
        print(sorted(set(re.findall(r"Cap(?:Inh|Prm|Eff|Bnd|Amb):\\t0*(\\w)", status))))
        print(re.search(r"NoNewPrivs:\\t(\\d)", status)[1])
    """
    assert run(sandbox, code).stdout == b"['0']\n1\n"


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_the_writable_places_have_a_size(sandbox: Sandbox, place: str) -> None:
    code = f"""{ATTEMPT}
written = 0
def fill():
    global written
    for index in range(100):
        with open(f"{place}/{{index}}", "wb") as file:
            written += file.write(b"x" * (1 << 20))
print(attempt(fill), written >> 20)
"""
    outcome, mebibytes = run(sandbox, code, limits=Limits(wall_seconds=10, tmpfs_bytes=16 * MEBIBYTE)).stdout.split()
    assert outcome == b"ENOSPC"
    assert 14 <= int(mebibytes) <= 16


def test_one_file_has_a_size(sandbox: Sandbox) -> None:
    code = f"{ATTEMPT}\nprint(attempt(lambda: open('/tmp/x', 'wb').write(b'x' * (3 << 20))))"
    assert run(sandbox, code, limits=Limits(wall_seconds=10, file_bytes=2 * MEBIBYTE)).stdout == b"EFBIG\n"


def test_open_files_are_counted(sandbox: Sandbox) -> None:
    opening = "[files.append(open('/dev/null')) for _ in range(1000)]"
    code = f"{ATTEMPT}\nfiles = []\nprint(attempt(lambda: {opening}), len(files))"
    assert run(sandbox, code, limits=Limits(wall_seconds=10, open_files=64)).stdout == b"EMFILE 61\n"


def test_a_second_run_finds_no_trace_of_the_first(sandbox: Sandbox) -> None:
    code = "import os; print(os.listdir('/tmp'), os.listdir('/dev/shm')); open('/tmp/a', 'w'); open('/dev/shm/b', 'w')"
    assert [run(sandbox, code).stdout for _ in range(2)] == [b"[] []\n", b"[] []\n"]


def test_an_unknown_environment_is_our_fault(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxError, match="environment 'fortran'"):
        sandbox.environment_digest("fortran")
