"""Attacks on the sandbox: reach the network, the host's files or other processes, or gain privileges.

Each logs its failed tries. An attack is not repelled if a try succeeded, or if fewer were made than expected.
"""

from __future__ import annotations

import re
import textwrap
from typing import Final

from tests.attacks.corpus.attack import Attack, Group, sealed
from tests.attacks.corpus.library import tries

_CONNECT = """
def connect(address, family=socket.AF_INET):
    with socket.socket(family) as plug:
        plug.settimeout(0.5)
        plug.connect(address)
"""
_WRITE = """
def write(path):
    with open(path, "a") as file:
        file.write("x")
    return path


def make(folder):
    return write(os.path.join(folder, MARK))
"""
_CALLS = """
def denied(**calls):
    for name, arguments in calls.items():
        attempt(name, call, name, *arguments)
"""
_LOOK = """
def find(folder, name):
    for place, folders, files in os.walk(folder):
        folders[:] = [] if place in ("/proc", "/sys") else folders
        if name in files:
            return place
    raise FileNotFoundError(errno.ENOENT, name)


def variable(path):
    with open(path, "rb") as file:
        if HOST_VARIABLE.encode() in file.read():
            return path
    raise FileNotFoundError(errno.ENOENT, HOST_VARIABLE)


def powers():
    status = open("/proc/self/status").read().splitlines()
    values = dict(line.split(":\\t", 1) for line in status if ":\\t" in line)
    if os.getuid() == 0 or int(values["CapEff"], 16) or int(values["CapBnd"], 16) or _libc.prctl(39, 0, 0, 0, 0) != 1:
        return values
    raise PermissionError(errno.EPERM, "none")


def earlier():
    found = os.listdir("/tmp") + os.listdir("/dev/shm")
    for folder in ("/tmp", "/dev/shm"):
        open(os.path.join(folder, MARK), "w").close()
    if found:
        return found
    raise FileNotFoundError(errno.ENOENT, "nothing")


def others():
    found = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
    if found:
        return found
    raise ProcessLookupError(errno.ESRCH, "nobody")
"""
_SOCKETS = """
def hold(kind):
    \"\"\"Keep more in the buffers of sockets than the box has memory.\"\"\"
    listener = socket.socket(type=kind)
    listener.bind(("127.0.0.1", 0))
    if kind == socket.SOCK_STREAM:
        listener.listen()
    kept, size = [listener], 0
    while len(kept) < 200:
        ours = socket.socket(type=kind)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            ours.setsockopt(socket.SOL_SOCKET, option, 2**26)
        if kind == socket.SOCK_STREAM:
            ours.connect(listener.getsockname())
            pair = [ours, listener.accept()[0]]
        else:
            ours.bind(("127.0.0.1", 0))
            ours.connect(ours.getsockname())
            pair = [ours]
        kept += pair
        for end in pair:
            try:
                while size < 300_000_000:
                    size += end.send(bytes(65536 if kind == socket.SOCK_STREAM else 1000), socket.MSG_DONTWAIT)
            except OSError:
                pass
    # Of a datagram of a thousand bytes the kernel keeps 2,304.
    if size > (290_000_000 if kind == socket.SOCK_STREAM else 120_000_000):
        return size
    raise OSError(errno.ENOBUFS, f"{size} bytes")


def program():
    \"\"\"The address of a filter that allows everything, in the form that sockets and processes take.\"\"\"
    steps = struct.pack("HBBI", 4, 0, 0, 1) * 4000 + struct.pack("HBBI", 6, 0, 0, 0x7FFF0000)
    kept.append(ctypes.create_string_buffer(steps, len(steps)))
    kept.append(ctypes.create_string_buffer(struct.pack("Hxxxxxxq", 4001, ctypes.addressof(kept[-1])), 16))
    return kept[-1]


kept = []
"""
_BEFORE = _CONNECT + _WRITE + _CALLS + _LOOK + _SOCKETS


def _attack(name: str, held: int, lines: str, runs: int = 1) -> Attack:
    source = tries(textwrap.dedent(lines), before=_BEFORE)
    return Attack(name, Group.ESCAPE, source, sealed("wrong_output"), runs=runs, held=held * runs)


# The number of tries that must fail, and the attack's name; then the tries.
_TRIES = """
3 network
    attempt('1.1.1.1', connect, ('1.1.1.1', 443))
    attempt('IPv6', connect, ('2606:4700:4700::1111', 443), socket.AF_INET6)
    attempt('UDP', lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53)))
1 names
    attempt('DNS', socket.getaddrinfo, 'example.org', 443)
1 metadata service
    attempt('169.254.169.254', connect, ('169.254.169.254', 80))
3 host's port
    attempt('loopback', connect, ('127.0.0.1', HOST_PORT))
    attempt('loopback, IPv6', connect, ('::1', HOST_PORT), socket.AF_INET6)
    attempt('bridge', connect, ('172.17.0.1', HOST_PORT))
5 host's sockets
    attempt('abstract', connect, chr(0) + HOST_SOCKET, socket.AF_UNIX)
    for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/systemd/private', '/run/dbus/system_bus'):
        attempt(path, connect, path, socket.AF_UNIX)
4 rare sockets
    attempt('vsock', socket.socket, 40, socket.SOCK_STREAM)
    attempt('packet', socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
    attempt('alg', socket.socket, 38, socket.SOCK_SEQPACKET)
    attempt('raw', socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
2 memory of sockets
    attempt('TCP', hold, socket.SOCK_STREAM)
    attempt('UDP', hold, socket.SOCK_DGRAM)
132 other families
    for family in range(2, 46):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            attempt(f'{family} {kind}', socket.socket, family, kind)
38 other protocols
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind, protocols in ((socket.SOCK_STREAM, (6, 33, 132, 262)), (socket.SOCK_DGRAM, (1, 17, 58, 136))):
            for protocol in protocols:
                attempt(f'{family} {protocol}', socket.socket, family, kind, protocol)
    for protocol in range(22):
        attempt(f'netlink {protocol}', socket.socket, 16, socket.SOCK_RAW, protocol)
4 socket filters
    for option in (26, 50, 51, 52):
        one, other = socket.socketpair()
        attempt(option, one.setsockopt, socket.SOL_SOCKET, option, program().raw)
2 further call filters
    attempt('prctl', call, 'prctl', 22, 2, ctypes.addressof(program()), 0, 0)
    attempt('seccomp', call, 'seccomp', 1, 0, ctypes.addressof(program()))
13 write elsewhere
    for folder in ('/', '/usr', '/usr/lib', '/etc', '/var', '/box', '/box/repository', '/dev', '/proc', '/sys'):
        attempt(folder, make, folder)
    for file in ('/box/run.py', '/box/driver.py', '/box/repository/weighing/goal.py'):
        attempt(file, write, file)
4 kernel settings
    for file in ('sys/kernel/core_pattern', 'sys/vm/overcommit_memory', 'sysrq-trigger', 'sys/kernel/modprobe'):
        attempt(file, open, '/proc/' + file, 'r+b', 0)
5 become root
    attempt('setuid', os.setuid, 0)
    attempt('setgid', os.setgid, 0)
    attempt('setgroups', os.setgroups, [0])
    attempt('su', lambda: subprocess.run(['su', '-c', 'true'], check=True, stdin=-3, timeout=5))
    attempt('powers', powers)
4 set-uid file and devices
    open('/tmp/program', 'w').close()
    attempt('chown', os.chown, '/tmp/program', 0, 0)
    attempt('mem', os.mknod, '/tmp/mem', 0o20666, os.makedev(1, 1))
    attempt('disk', os.mknod, '/tmp/disk', 0o60666, os.makedev(8, 0))
    attempt('chroot', os.chroot, '/tmp')
4 mounts
    denied(mount=(0, 0, 0, 0, 0), umount2=(0, 0), pivot_root=(0, 0), swapon=(0, 0))
4 namespaces
    denied(unshare=(0x10000000,), setns=(0, 0), clone=(0x10000000 | 17, 0, 0, 0, 0))
    attempt('unshare, mounts', call, 'unshare', 0x00020000)
10 kernel calls
    denied(ptrace=(0, 0, 0, 0), keyctl=(0, -3, 0), add_key=(0, 0, 0), bpf=(0, 0, 0), io_uring_setup=(1, 0))
    denied(userfaultfd=(0,), perf_event_open=(0, 0, -1, -1, 0), process_vm_readv=(1, 0, 0, 0, 0, 0))
    denied(open_by_handle_at=(0, 0, 0), kexec_load=(0, 0, 0, 0))
14 shared state
    denied(fadvise64=(0, 0, 0, 4), preadv2=(0, 0, 0, 0, 0, 8), mincore=(0, 0, 0), cachestat=(0, 0, 0, 0))
    denied(flock=(0, 6), io_setup=(1, 0), inotify_init1=(0,), fanotify_init=(0, 0))
    file = open('/box/run.py')
    lock = struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 1, 0)
    for command in (fcntl.F_GETLK, fcntl.F_SETLK, fcntl.F_OFD_SETLK):
        attempt(f'fcntl {command}', fcntl.fcntl, file, command, lock)
    for command in (fcntl.F_SETLEASE, fcntl.F_NOTIFY):
        attempt(f'fcntl {command}', fcntl.fcntl, file, command, 0)
    attempt('pages out', mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ).madvise, 21)
3 the machine itself
    denied(init_module=(0, 0, 0), settimeofday=(0, 0), sethostname=(0, 0))
6 host's secrets
    attempt('path', open, HOST_FILE)
    attempt('file', find, '/', os.path.basename(HOST_FILE))
    for path in ('/proc/self/environ', '/proc/1/environ'):
        attempt(path, variable, path)
    attempt('shadow', open, '/etc/shadow')
    attempt('root', os.listdir, '/root')
1 other processes
    attempt('others', others)
"""
_ATTACKS: Final = re.compile(r"^(\d+) (.*)\n((?: +.*\n)+)", re.MULTILINE)
ESCAPE: Final[tuple[Attack, ...]] = (
    *(_attack(name, int(held), lines) for held, name, lines in _ATTACKS.findall(_TRIES)),
    _attack("second run", 1, "attempt('notes', earlier)", runs=2),
)
