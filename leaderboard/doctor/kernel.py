"""Check what bubblewrap's boxes need of the kernel. ``root`` is where /proc and /sys are found."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from django.conf import settings

from evaluator.sandbox.cgroups import NEEDED, Hierarchies, read_hierarchies
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.seccomp import deny_filter
from leaderboard.doctor.findings import failed, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leaderboard.doctor.findings import Finding

ROOT: Final = Path("/")
_CLONE: Final = "kernel.unprivileged_userns_clone"
_MOST: Final = "user.max_user_namespaces"
_APPARMOR: Final = "kernel.apparmor_restrict_unprivileged_userns"
_GROUPS: Final = "control groups"
_OF_VERSION_1: Final = (*NEEDED, "cpuacct")


def user_namespaces(root: Path = ROOT) -> Finding:
    """Check the switches by which distributions forbid them to users."""
    name = "user namespaces"
    values = {key: _read(root / "proc/sys" / key.replace(".", "/")) for key in (_CLONE, _MOST, _APPARMOR)}
    found = ", ".join(f"{key} = {value}" for key, value in values.items() if value) or "no switch forbids them"
    if not (root / "proc/self/ns/user").exists():
        return failed(name, "this kernel has none", "Use a kernel with CONFIG_USER_NS, or Docker.")
    if values[_CLONE] == "0":
        return failed(name, found, f"sysctl -w {_CLONE}=1, and the same in /etc/sysctl.d.")
    if values[_MOST] == "0":
        return failed(name, found, f"sysctl -w {_MOST}=10000, and the same in /etc/sysctl.d.")
    if values[_APPARMOR] == "1":
        todo = f"If boxes fail: give bwrap an AppArmor profile that allows userns, or sysctl -w {_APPARMOR}=0."
        return warning(name, found, todo)
    return ok(name, found)


def control_groups(root: Path = ROOT, user: int | None = None) -> Finding:
    """Check that this process can limit memory, processes and processor of a box."""
    user = os.geteuid() if user is None else user
    found = read_hierarchies((root / "proc/self/mountinfo").read_text(encoding="utf-8"))
    if all(name in found.v1 for name in _OF_VERSION_1):
        finding = _version_1(root, found, user)
    elif found.v2 is None:
        some = ", ".join(name for name in _OF_VERSION_1 if name in found.v1)
        mounted = f"version 1 with {some} only" if some else "none are mounted"
        finding = failed(_GROUPS, mounted, "Mount /sys/fs/cgroup (version 2), or use Docker.")
    else:
        finding = _version_2(root, found.v2, user)
    if settings.ENVIRONMENT.sandbox_allow_no_cgroups:
        todo = "Set SANDBOX_ALLOW_NO_CGROUPS=false: it is for development only."
        return warning(_GROUPS, f"{finding.found}; boxes may run without limits", todo)
    return finding


def _version_1(root: Path, found: Hierarchies, user: int) -> Finding:
    kind = "version 1 and 2 (hybrid), version 1 is used" if found.v2 else "version 1"
    if user != 0:
        todo = "Run the workers as root, or boot with systemd.unified_cgroup_hierarchy=1."
        return failed(_GROUPS, f"{kind}, which only root can use", todo)
    closed = [name for name in _OF_VERSION_1 if not os.access(_below(root, found.v1[name]), os.W_OK)]
    if closed:
        return failed(_GROUPS, f"{kind}; not writable: {', '.join(closed)}", "Mount /sys/fs/cgroup writable.")
    return ok(_GROUPS, f"{kind}: {', '.join(_OF_VERSION_1)}, writable")


def _version_2(root: Path, mount: Path, user: int) -> Finding:
    """Check root's own group, or the one that systemd gives to the user's session manager."""
    group = _below(root, mount)
    linger = "Run the workers as root, or with a systemd user session (loginctl enable-linger USER)."
    if user != 0:
        group = group / f"user.slice/user-{user}.slice/user@{user}.service"
        if not group.is_dir():
            return failed(_GROUPS, f"version 2; user {user} has no session of systemd", linger)
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if not runtime or not (_below(root, Path("/", runtime)) / "systemd").is_dir():
            # A service of the whole system with User= has no variables of the session, though the session exists.
            todo = f"Set XDG_RUNTIME_DIR=/run/user/{user} for the workers, or start them with systemctl --user."
            named = f"XDG_RUNTIME_DIR={runtime}" if runtime else "XDG_RUNTIME_DIR is not set"
            return failed(_GROUPS, f"version 2; this process cannot find the session of user {user}: {named}", todo)
    available = _read(group / "cgroup.controllers").split()
    missing = [name for name in NEEDED if name not in available]
    if missing:
        todo = "Delegate them: Delegate=yes in the service, or in a drop-in of user@.service."
        return failed(_GROUPS, f"version 2; this process cannot use {', '.join(missing)}", todo)
    if not os.access(group / "cgroup.subtree_control", os.W_OK):
        todo = "Mount /sys/fs/cgroup writable, as root." if user == 0 else linger
        return failed(_GROUPS, "version 2; its group cannot be written", todo)
    # A group other than the first cannot have both processes and controllers for groups below it.
    if user == 0 and (group / "cgroup.type").exists() and _read(group / "cgroup.procs"):
        todo = "Start the programs in a group below it, as systemd does, or give the container the host's groups."
        return failed(_GROUPS, "version 2; processes in its own group keep controllers from boxes", todo)
    return ok(_GROUPS, f"version 2: {', '.join(NEEDED)}, writable")


def _below(root: Path, folder: Path) -> Path:
    return root / folder.relative_to("/")


def apparmor(root: Path = ROOT) -> Finding:
    """Report AppArmor and this process's profile."""
    if _read(root / "sys/module/apparmor/parameters/enabled") != "Y":
        return ok("AppArmor", "not used")
    places = ("proc/self/attr/apparmor/current", "proc/self/attr/current")
    profile = next(filter(None, (_read(root / place) for place in places)), "unknown")
    if profile in {"unconfined", "unknown"} or "(unconfined)" in profile:
        return ok("AppArmor", f"enabled; profile of this process: {profile}")
    todo = "If boxes fail: run the workers unconfined, or allow userns, mount and pivot_root in the profile."
    return warning("AppArmor", f"enabled; this process is confined by {profile}", todo)


def seccomp(root: Path = ROOT) -> Finding:
    """Check that the kernel has filters of calls, and that libseccomp can make ours."""
    if not (root / "proc/sys/kernel/seccomp/actions_avail").exists():
        return failed("seccomp", "this kernel has none", "Use a kernel with CONFIG_SECCOMP_FILTER.")
    try:
        size = len(deny_filter(loopback=False))
    except SandboxError as error:
        return failed("seccomp", str(error), "Install libseccomp2 from a current release of the distribution.")
    return ok("seccomp", f"kernel and libseccomp work; the filter of a box has {size} bytes")


def findings() -> Iterator[Finding]:
    """Yield everything that bubblewrap needs of the kernel."""
    yield user_namespaces()
    yield control_groups()
    yield apparmor()
    yield seccomp()


def _read(path: Path) -> str:
    """Return a small file's content; empty if it cannot be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8").strip("\0\n ")
    return ""
