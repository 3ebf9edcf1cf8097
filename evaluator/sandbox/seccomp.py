"""Build the BPF program that denies kernel calls in boxes, with libseccomp (Debian: ``libseccomp2``).

The program is a deny list. In a Docker box it is added to the engine's own allow list; in a bubblewrap box it is the
only filter, so it also covers what the engine would refuse. Source of the list: the trials of November 2026 (vsock and
io_uring bypass network namespaces; keyctl, bpf, ptrace, mounts and user namespaces widen the kernel's attack surface;
the page cache and the locks of files that boxes share carry bits from one box to another; buffers of network sockets
and compiled filters use the whole machine's memory outside every box's limit).
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from evaluator.sandbox.interface import SandboxUnavailableError

_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
_ATTRIBUTE_BAD_ARCHITECTURE: Final = 2
_UNKNOWN_CALL: Final = -1

_NOT_EQUAL: Final = 1
_EQUAL: Final = 4
_GREATER: Final = 6
_MASKED_EQUAL: Final = 7

_CLONE_NEWUSER: Final = 0x10000000
_LOOPBACK_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)
_LOOPBACK_PROTOCOLS: Final = (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
_SOCKET_FILTERS: Final = (26, 50, 51, 52)  # SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF and …_EBPF
_SET_SECCOMP: Final = 22
_TERMINAL_INPUT: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into another user's terminal
_MADV_PAGEOUT: Final = 21
_DEVICES: Final = (stat.S_IFCHR, stat.S_IFBLK)
_FIRST_PROCESS: Final = 1
_SIGNALS: Final = {"kill": (0,), "tkill": (0,), "tgkill": (0, 1), "rt_sigqueueinfo": (0,), "rt_tgsigqueueinfo": (0, 1)}
"""Calls that send a signal, and which of their arguments name a process or thread."""
_OWNER_COMMANDS: Final = (fcntl.F_SETOWN, 15)  # the second one is F_SETOWN_EX
_OWNER_REQUESTS: Final = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP
_LOW_HALF: Final = 0xFFFFFFFF  # the part of an int argument that the kernel reads; a filter sees all 64 bits

_SHARED_FILE_COMMANDS: Final = (
    fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_SETLKW, fcntl.F_OFD_GETLK, fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW,
    fcntl.F_GETLEASE, fcntl.F_SETLEASE, fcntl.F_NOTIFY,
)  # fmt: skip
"""Commands of ``fcntl`` visible to other boxes, by this architecture's numbers: locks, leases, notifications."""

REQUIRED_CALLS: Final = (
    "add_key", "bpf", "io_uring_enter", "io_uring_register", "io_uring_setup", "kexec_load", "keyctl", "mount",
    "perf_event_open", "pivot_root", "process_vm_readv", "process_vm_writev", "ptrace", "request_key", "seccomp",
    "setns", "umount2", "unshare", "userfaultfd",
)  # fmt: skip
"""Denied in every box; a libseccomp too old to know one of them is refused."""

SHARED_STATE_CALLS: Final = (
    "arm_fadvise64_64", "cachestat", "fadvise64", "fadvise64_64", "flock", "inotify_init", "inotify_init1", "io_setup",
    "mincore", "preadv2", "pwritev2",
)  # fmt: skip
"""Calls that set and read state shared between boxes: the page cache and locks of the environment's files, and kernel
limits on notifications and asynchronous I/O. They fail as if the kernel lacked them, which libraries are prepared for:
libc then reads without ``preadv2``, and file locks of Python packages report what is missing.
"""

FURTHER_CALLS: Final = (
    "acct", "chroot", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init", "finit_module", "fsconfig",
    "fsmount", "fsopen", "fspick", "init_module", "ioperm", "iopl", "kcmp", "kexec_file_load", "listmount",
    "lookup_dcookie", "migrate_pages", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at", "nfsservctl",
    "open_by_handle_at", "open_tree", "open_tree_attr", "pidfd_getfd", "process_madvise", "quotactl", "quotactl_fd",
    "reboot", "settimeofday", "statmount", "swapoff", "swapon", "syslog", "uselib", "vhangup", "vmsplice",
)  # fmt: skip
"""Denied if the architecture and the library know them."""

_NUMBERS: Final = {"cachestat": 451, "statmount": 457, "listmount": 458, "open_tree_attr": 467}
"""Calls that Debian 12's libseccomp does not know by name. Such new calls have the same number on all architectures."""


class _Comparison(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    ]


def refuse(error: int) -> int:
    """Return the action that makes a call fail with ``error``."""
    return _ERRNO | error


@lru_cache(maxsize=2)
def deny_filter(*, loopback: bool = False) -> bytes:
    """Build the program for this machine's architecture, as an array of ``struct sock_filter`` (8 bytes each).

    With ``loopback``, a box may use TCP and UDP sockets besides Unix ones. Its network has no other interface.

    Raises:
        SandboxUnavailableError: libseccomp is missing or too old.
    """
    library = _library()
    context = library.seccomp_init(ctypes.c_uint32(_ALLOW))
    if not context:
        raise SandboxUnavailableError("libseccomp could not start a filter: is there memory left?")
    try:
        # 32-bit and x32 calls have different numbers and would bypass a list of 64-bit ones.
        _require(library.seccomp_attr_set(context, _ATTRIBUTE_BAD_ARCHITECTURE, _KILL_PROCESS), "refuse other ABIs")
        _add_rules(library, context)
        _add_socket_rules(library, context, _LOOPBACK_FAMILIES if loopback else ())
        return _export(library, context)
    finally:
        library.seccomp_release(context)


def _add_rules(library: Any, context: int) -> None:
    for name in REQUIRED_CALLS:
        _deny(library, context, name)
    for name in FURTHER_CALLS:
        if _number(library, name) != _UNKNOWN_CALL:
            _deny(library, context, name)
    for name in SHARED_STATE_CALLS:
        if _number(library, name) != _UNKNOWN_CALL:
            _deny(library, context, name, action=refuse(errno.ENOSYS))
    for command in _SHARED_FILE_COMMANDS:
        _deny(library, context, "fcntl", [_equals(1, command)], action=refuse(errno.ENOSYS))
    _deny(library, context, "madvise", [_equals(2, _MADV_PAGEOUT)], action=refuse(errno.ENOSYS))
    # clone3 hides its flags behind a pointer that a filter cannot follow; "not implemented" makes libc use clone.
    _deny(library, context, "clone3", action=refuse(errno.ENOSYS))
    _deny(library, context, "clone", [_Comparison(0, _MASKED_EQUAL, _CLONE_NEWUSER, _CLONE_NEWUSER)])
    # A process of the same user could limit any other's processor time, and so kill its box's first process.
    _deny(library, context, "prlimit64", [_Comparison(0, _NOT_EQUAL, 0, 0)])
    for device in _DEVICES:  # Linux refuses them to users without CAP_MKNOD; gVisor's kernel does not
        for call, mode in (("mknod", 1), ("mknodat", 2)):
            _deny(library, context, call, [_Comparison(mode, _MASKED_EQUAL, stat.S_IFMT(_LOW_HALF), device)])
    for request in _TERMINAL_INPUT:
        _deny(library, context, "ioctl", [_equals(1, request)])
    _deny(library, context, "prctl", [_equals(0, _SET_SECCOMP)])
    _protect_first_process(library, context)


def _protect_first_process(library: Any, context: int) -> None:
    """Refuse signals to the box's first process, which Linux spares by itself and gVisor's kernel does not."""
    for call, arguments in _SIGNALS.items():
        for argument in arguments:
            _deny(library, context, call, [_equals(argument, _FIRST_PROCESS)])
    # The process is behind a descriptor or a pointer, which a filter cannot follow.
    _deny(library, context, "pidfd_send_signal", action=refuse(errno.ENOSYS))
    for command in _OWNER_COMMANDS:
        _deny(library, context, "fcntl", [_equals(1, command)])
    for request in _OWNER_REQUESTS:
        _deny(library, context, "ioctl", [_equals(1, request)])


def _add_socket_rules(library: Any, context: int, families: tuple[int, ...]) -> None:
    """Refuse all sockets except Unix ones and those of ``families``, as if the kernel lacked them.

    Netlink is refused, too: no limit counts the answers queued in its sockets. Families and protocols are compared in
    all 64 bits: a value with bits in the upper half is greater than all allowed ones.
    """
    allowed = (socket.AF_UNIX, *families)
    last = max(_LOOPBACK_PROTOCOLS)
    for call in ("socket", "socketpair"):
        for rule in (_Comparison(0, _GREATER, max(allowed), 0), *_disallowed(0, allowed)):
            _deny(library, context, call, [rule], action=refuse(errno.EAFNOSUPPORT))
        for family in families:
            for rule in (_Comparison(2, _GREATER, last, 0), *_disallowed(2, _LOOPBACK_PROTOCOLS)):
                ours = _Comparison(0, _EQUAL, family, 0)
                _deny(library, context, call, [ours, rule], action=refuse(errno.EPROTONOSUPPORT))
    for option in _SOCKET_FILTERS:
        _deny(library, context, "setsockopt", [_equals(1, socket.SOL_SOCKET), _equals(2, option)])


def _disallowed(argument: int, allowed: tuple[int, ...]) -> list[_Comparison]:
    """Compare an argument with each number below the largest of ``allowed`` that is not allowed."""
    return [_Comparison(argument, _EQUAL, each, 0) for each in range(max(allowed)) if each not in allowed]


def _equals(argument: int, value: int) -> _Comparison:
    """Compare an ``int`` argument (the first one is 0) with ``value``, ignoring its upper half."""
    return _Comparison(argument, _MASKED_EQUAL, _LOW_HALF, value)


def _deny(
    library: Any,
    context: int,
    name: str,
    comparisons: Iterable[_Comparison] = (),
    action: int = _ERRNO | errno.EPERM,
) -> None:
    number = _number(library, name)
    if number == _UNKNOWN_CALL:
        raise SandboxUnavailableError(
            f"libseccomp does not know the kernel call {name}: install a newer one (Debian: libseccomp2 from bookworm)"
        )
    rules = list(comparisons)
    array = (_Comparison * len(rules))(*rules)
    result = library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(rules), array)
    _require(result, f"deny {name}")


def _number(library: Any, name: str) -> int:
    number = int(library.seccomp_syscall_resolve_name(name.encode()))
    return _NUMBERS.get(name, _UNKNOWN_CALL) if number == _UNKNOWN_CALL else number


def _export(library: Any, context: int) -> bytes:
    descriptor = os.memfd_create("box-filter")
    try:
        _require(library.seccomp_export_bpf(context, descriptor), "export the filter")
        size = os.lseek(descriptor, 0, os.SEEK_CUR)
        return os.pread(descriptor, size, 0)
    finally:
        os.close(descriptor)


def _require(result: int, what: str) -> None:
    if result < 0:
        raise SandboxUnavailableError(f"libseccomp could not {what}: {os.strerror(-result)}")


def _library() -> Any:
    name = ctypes.util.find_library("seccomp") or "libseccomp.so.2"
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise SandboxUnavailableError(f"libseccomp is missing ({error}): install it (Debian: libseccomp2)") from error
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.POINTER(_Comparison),
    ]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    return library
