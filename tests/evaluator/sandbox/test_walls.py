"""What a program in either sandbox can and cannot reach; the attacks try to get further."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox import seccomp
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.host_users import DEFAULT_HOST_ID, HOST_USERS
from evaluator.sandbox.interface import Ending, Limits, Mount, Sandbox, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import has_own_kernel, order, run

MEBIBYTE = 1024 * 1024


# The program reports all that it can see of its box; the attacks (tests/attacks) try to get further.
SPY = """
import ctypes, errno, json, os, re, socket

def attempt(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return "ok"

def fill(place):
    with open(f"{place}/large", "wb") as file:
        for _ in range(100):
            file.write(b"x" * (1 << 20))

def first_process():
    try:
        return open("/proc/1/environ").read().count("host-secret")
    except PermissionError:
        return 0

writable = []
for folder, folders, _ in os.walk("/"):
    folders[:] = [] if folder in ("/proc", "/sys") else folders
    if os.access(folder, os.W_OK):
        writable.append(folder)
left = os.listdir("/tmp") + os.listdir("/dev/shm")
status = open("/proc/self/status").read()
seen = {
    "variables": sorted(os.environ),
    "first process": first_process(),
    "user": [os.getuid(), os.getgid() == os.getuid(), set(os.getgroups()) <= {os.getgid()}],
    "powers": sorted(set(re.findall(r"Cap(?:Inh|Prm|Eff|Bnd|Amb):\\t0*(\\w)", status))),
    "no new powers": ctypes.CDLL(None).prctl(39, 0, 0, 0, 0),
    "filter": re.search(r"Seccomp:\\t(\\d)", open("/proc/1/status").read())[1],
    "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
    "descriptors": len(os.listdir("/proc/self/fd")),
    "writable": sorted(set(writable) - {"/dev/mqueue", "/dev/pts"}),
    "left": left,
    "network": attempt(lambda: socket.create_connection(("169.254.169.254", 80), 2)),
    "loopback": attempt(lambda: socket.create_connection(("127.0.0.1", 6379), 2)),
    "become root": attempt(lambda: os.setuid(0)) in ("EPERM", "EINVAL"),
    "another root": attempt(lambda: os.chroot("/tmp")),
    "large file": attempt(lambda: fill("/tmp")),
    "many files": attempt(lambda: [open("/dev/null") for _ in range(1000)] and None),
}
print(json.dumps(seen))
"""


@pytest.mark.smoke
def test_the_view_from_inside_a_box(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs twice: the second box finds nothing of the first."""
    monkeypatch.setenv("SECRET_KEY", "host-secret")
    limits = Limits(wall_seconds=10, file_bytes=2 * MEBIBYTE)
    results = [run(sandbox, SPY, limits=limits, mounts=(Mount(tmp_path, "/box/task"),)) for _ in range(2)]
    ours = {"HOME", "LC_ALL", "LOGNAME", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"}
    ours |= {"OPENBLAS_NUM_THREADS", "PATH", "TMPDIR"}
    the_sandboxs = {"LD_LIBRARY_PATH", "PWD"} if sandbox.name == "bubblewrap" else {"HOSTNAME"}
    expected = {
        "variables": sorted(ours | the_sandboxs),
        "first process": 0,
        "user": [65534, True, True],
        "powers": ["0"],
        "no new powers": 1,
        "filter": "2",
        "processes": 2,
        "descriptors": 4,
        "writable": ["/dev/shm", "/tmp"],
        "left": [],
        "network": "EAFNOSUPPORT",
        "loopback": "EAFNOSUPPORT",
        "become root": True,
        "another root": "EPERM",
        "large file": "EFBIG",
        "many files": "EMFILE",
    }
    seen = [json.loads(result.stdout) for result in results]
    if sandbox.name == "docker":  # it shows the host's number
        numbers = range(DEFAULT_HOST_ID, DEFAULT_HOST_ID + HOST_USERS)
        for each in seen:
            each["user"][0] = 65534 if each["user"][0] in numbers else f"not one of {numbers}"
    assert seen == [expected] * 2, results[0].stderr


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_the_writable_folders_have_a_limited_size(sandbox: Sandbox, place: str) -> None:
    code = f"""
        written = 0
        try:
            for index in range(100):
                with open(f"{place}/{{index}}", "wb") as file:
                    written += file.write(b"x" * (1 << 20))
        except OSError as error:
            print(error.strerror, written >> 20, sep=":")
    """
    outcome, mebibytes = run(sandbox, code, limits=Limits(tmpfs_bytes=16 * MEBIBYTE)).stdout.split(b":")
    assert outcome == b"No space left on device"
    assert 14 <= int(mebibytes) <= 16


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


CALL = """
import ctypes, errno, json
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(argument) for argument in arguments])
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""


@pytest.mark.smoke("gvisor")
def test_nothing_ends_the_first_process(sandbox: Sandbox) -> None:
    """Its end would end the box without a report, and the box would run again as if the host had failed.

    Linux spares the first process of a box; gVisor's kernel does not, so the call filter must refuse every way.
    """
    if os.uname().machine != "x86_64":
        pytest.skip("the call numbers in this test are those of x86-64")
    code = f"""{CALL}
import os, resource, signal, time
high = 1 << 32
ways = {{
    "kill": [(62, 1, 9), (62, high | 1, 9)], "tkill": [(200, 1, 9), (200, high | 1, 9)],
    "tgkill": [(234, 1, 1, 9), (234, 1, high | 1, 9), (234, high | 1, 1, 9)],
    "rt_sigqueueinfo": [(129, 1, 9, 0)], "rt_tgsigqueueinfo": [(297, 1, 1, 9, 0)],
    "limit": [(302, 1, 0, 0, 0), (302, high | 1, 0, 0, 0)],
    "owner": [(72, 0, 8, 1), (72, 0, 15, 0), (72, 0, high | 8, 1), (16, 0, 0x8901, 0), (16, 0, 0x8902, 0)],
}}
print(json.dumps({{name: [call(*way) for way in tries] for name, tries in ways.items()}}))
print(call(424, 3, 9, 0, 0))  # pidfd_send_signal
print(sorted({{call(62, 1, number) for number in range(1, 65)}}))
call(109, 0, 1)  # setpgid: where it succeeds, the next signals to the group reach the first process
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for target in (0, -1):
    child = os.fork()
    if child == 0:
        time.sleep(60)
    os.kill(target, signal.SIGTERM)
    os.kill(child, signal.SIGKILL)
    os.wait()
for _ in range(100):
    if os.fork() == 0:
        if os.fork() == 0:
            sum(range(10_000))
        os._exit(0)
    os.wait()
print(resource.prlimit(0, resource.RLIMIT_CORE), os.getppid())
"""
    result = run(sandbox, code, limits=Limits(wall_seconds=60.0))
    assert (result.ending, result.exit_code, result.stderr) == (Ending.EXITED, 0, b"")
    answers, *lines = result.stdout.decode().splitlines()
    assert set(chain(*json.loads(answers).values())) == {"EPERM"}, answers
    assert lines == ["ENOSYS", "['EPERM']", "(0, 0) 1"]


UPPER_HALF = 1 << 32  # the kernel reads an int argument's lower half, and a filter must too


DENIED = {
    "EPERM": {
        "keyctl": (250, 0, -3, 0), "add_key": (248, 0, 0, 0), "bpf": (321, 0, 0, 0), "io_uring_setup": (425, 1, 0),
        "ptrace": (101, 0, 0, 0, 0), "mount": (165, 0, 0, 0, 0, 0), "unshare_user": (272, 0x10000000),
        "userfaultfd": (323, 0), "perf_event_open": (298, 0, 0, -1, -1, 0), "kexec_load": (246, 0, 0, 0, 0),
        "process_vm_readv": (310, 1, 0, 0, 0, 0, 0), "setns": (308, 0, 0), "open_by_handle_at": (304, 0, 0, 0),
        "clone_user": (56, 0x10000000 | 17, 0, 0, 0, 0),
        "pivot_root": (155, 0, 0), "seccomp": (317, 1, 0, 0), "second_filter": (157, 22, 2, 0, 0, 0),
        "high_second_filter": (157, UPPER_HALF | 22, 2, 0, 0, 0),
        **{f"socket_filter_{option}": (54, 0, 1, option, 0, 0) for option in (26, 50, 51, 52)},
        "high_socket_filter": (54, 0, UPPER_HALF | 1, UPPER_HALF | 26, 0, 0),
        "device": (133, 0, 0o20666, 0), "disk": (133, 0, 0o60666, 0), "high_device": (133, 0, UPPER_HALF | 0o20666, 0),
        "device_at": (259, 0, 0, 0o20666, 0), "disk_at": (259, 0, 0, 0o60666, 0),
    },
    # The kernel seems to have only Unix sockets: code for machines without a network handles these errors.
    "EAFNOSUPPORT": {
        "vsock": (41, 40, 1, 0), "alg": (41, 38, 5, 0), "packet": (41, 17, 3, 0), "netlink": (41, 16, 3, 0),
        "internet": (41, 2, 1, 0), "internet_6": (41, 10, 2, 0), "high_internet": (41, UPPER_HALF | 2, 1, 0),
        "high_family": (41, UPPER_HALF | 40, 1, 0), "multipath": (41, 2, 1, 262), "pair": (53, 2, 1, 0, 0),
    },
    # Calls on state that boxes would share seem unknown, and so does clone3, so that threads still start.
    "ENOSYS": {
        "fadvise64": (221, 0, 0, 0, 4), "preadv2": (327, 0, 0, 0, 0, 0, 8), "pwritev2": (328, 1, 0, 0, 0, 0, 8),
        "mincore": (27, 0, 0, 0), "cachestat": (451, 0, 0, 0, 0), "flock": (73, 0, 6), "io_setup": (206, 1, 0),
        "inotify_init": (253,), "inotify_init1": (294, 0), "clone3": (435, 0, 0),
        "pageout": (28, 0, 0, 21), "high_pageout": (28, 0, 0, UPPER_HALF | 21),
        **{f"fcntl_{command}": (72, 0, command, 0) for command in (5, 6, 7, 36, 37, 38, 1024, 1025, 1026)},
        "high_fcntl": (72, 0, UPPER_HALF | 6, 0),
    },
}  # fmt: skip


@pytest.mark.parametrize("error", DENIED)
def test_calls_are_denied(sandbox: Sandbox, error: str) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the call numbers in this test are those of x86-64")
    code = f"{CALL}\nprint(json.dumps({{k: call(*v) for k, v in {DENIED[error]!r}.items()}}))"
    assert json.loads(run(sandbox, code).stdout) == dict.fromkeys(DENIED[error], error)


@pytest.mark.smoke
def test_programs_work_without_the_denied_calls(sandbox: Sandbox) -> None:
    code = """
        import fcntl, mmap, os, sqlite3, tempfile, threading
        import numpy as np
        os.mkfifo("/tmp/fifo")
        file = tempfile.TemporaryFile()
        file.write(b"0123456789")
        file.flush()
        parts = [bytearray(2), bytearray(3)]
        print(os.preadv(file.fileno(), parts, 4), parts)
        fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_NONBLOCK)
        mmap.mmap(-1, 8192).madvise(mmap.MADV_DONTNEED)
        np.save("/tmp/a.npy", np.arange(5000))
        print(int(np.load("/tmp/a.npy", mmap_mode="r").sum()))
        thread = threading.Thread(target=print, args=("thread",), kwargs={"flush": True})
        thread.start(); thread.join()
        print(sqlite3.connect(":memory:").execute("select 1").fetchone())
    """
    result = run(sandbox, code)
    assert result.stdout == b"5 [bytearray(b'45'), bytearray(b'678')]\n12497500\nthread\n(1,)\n", result.stderr


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
    if has_own_kernel(sandbox) and result.ending is Ending.EXITED:
        # gVisor on ptrace takes it for the 64-bit call of this number (writev), which the filter sees, too.
        assert result.stdout == b"alive\n"
    else:
        assert (result.ending, result.signal, result.stdout) == (Ending.SIGNALLED, 31, b"")


def test_variables_are_added_and_replaced(sandbox: Sandbox) -> None:
    code = "import os; print([os.environ[name] for name in ('HF_HUB_OFFLINE', 'HOME', 'OMP_NUM_THREADS', 'EMPTY')])"
    variables = (("HF_HUB_OFFLINE", "1"), ("HOME", "/tmp/a = 'b'\n--c"), ("OMP_NUM_THREADS", "2"), ("EMPTY", ""))
    result = sandbox.run(replace(order(code), variables=variables))
    assert result.stdout == b"['1', \"/tmp/a = 'b'\\n--c\", '2', '']\n", result.stderr


def test_the_order_limits_the_number_of_files_in_tmp(docker: DockerSandbox) -> None:
    """Bubblewrap has no such option; there the control group's memory limit bounds the number of inodes."""
    code = """
        import errno
        try:
            for index in range(10000): open(f"/tmp/{index}", "w").close()
        except OSError as error:
            print(errno.errorcode[error.errno], index)
    """
    result = run(docker, code, limits=Limits(tmpfs_files=100))
    assert result.stdout == b"ENOSPC 99\n"


def test_a_library_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    with pytest.raises(SandboxUnavailableError, match=r"libseccomp is missing .*libseccomp2"):
        seccomp.deny_filter.__wrapped__()


def test_a_library_that_does_not_know_a_required_call_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "REQUIRED_CALLS", ("no_such_call",))
    with pytest.raises(SandboxUnavailableError, match="does not know the kernel call no_such_call"):
        seccomp.deny_filter.__wrapped__()
