"""Checks of the kernel, on copies of what systems show below /proc and /sys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leaderboard.doctor import kernel
from leaderboard.doctor.findings import Finding, State, failed, ok, warning

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django import Settings

LINGER = "Run the workers as root, or with a systemd user session (loginctl enable-linger USER)."
V1 = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:14 - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,nosuid,nodev,noexec,relatime shared:18 - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:9 - cgroup cgroup rw,name=systemd
"""
HYBRID = V1 + "41 31 0:38 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw\n"
V2 = "29 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
UBUNTU = "cpuset cpu io memory hugetlb pids rdma misc"


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files below ``root``; folders end with a slash."""
    for name, text in files.items():
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return root


class TestUserNamespaces:
    SWITCHES = (
        "kernel/unprivileged_userns_clone",
        "user/max_user_namespaces",
        "kernel/apparmor_restrict_unprivileged_userns",
    )

    @pytest.mark.parametrize(
        ("clone", "most", "apparmor", "expected"),
        [
            ("", "", "", ok("", "no switch forbids them")),
            ("1", "96365", "", ok("", "kernel.unprivileged_userns_clone = 1, user.max_user_namespaces = 96365")),
            (
                "0",
                "1000",
                "",
                failed(
                    "",
                    "kernel.unprivileged_userns_clone = 0, user.max_user_namespaces = 1000",
                    "sysctl -w kernel.unprivileged_userns_clone=1, and the same in /etc/sysctl.d.",
                ),
            ),
            (
                "",
                "0",
                "",
                failed(
                    "",
                    "user.max_user_namespaces = 0",
                    "sysctl -w user.max_user_namespaces=10000, and the same in /etc/sysctl.d.",
                ),
            ),
            (
                "1",
                "",
                "1",
                warning(
                    "",
                    "kernel.unprivileged_userns_clone = 1, kernel.apparmor_restrict_unprivileged_userns = 1",
                    "If boxes fail: give bwrap an AppArmor profile that allows userns, or sysctl -w "
                    "kernel.apparmor_restrict_unprivileged_userns=0.",
                ),
            ),
        ],
    )
    def test_switches(self, tmp_path: Path, clone: str, most: str, apparmor: str, expected: Finding) -> None:
        values = zip(self.SWITCHES, (clone, most, apparmor), strict=True)
        files = {f"proc/sys/{name}": f"{value}\n" for name, value in values if value}
        root = write(tmp_path, {"proc/self/ns/user": "", **files})
        assert kernel.user_namespaces(root) == expected._replace(name="user namespaces")

    def test_a_kernel_without_them(self, tmp_path: Path) -> None:
        todo = "Use a kernel with CONFIG_USER_NS, or Docker."
        assert kernel.user_namespaces(tmp_path) == failed("user namespaces", "this kernel has none", todo)


class TestControlGroups:
    def groups_1(self, tmp_path: Path, mounts: str) -> Path:
        folders = ("cpu,cpuacct", "memory", "pids", "systemd", "unified")
        return write(tmp_path, {"proc/self/mountinfo": mounts, **{f"sys/fs/cgroup/{name}/": "" for name in folders}})

    def groups_2(self, tmp_path: Path, group: str = "", **files: str) -> Path:
        inside = {f"sys/fs/cgroup/{group}cgroup.{name}": text for name, text in files.items()}
        return write(tmp_path, {"proc/self/mountinfo": V2, "sys/fs/cgroup/": "", **inside})

    @pytest.mark.parametrize(
        ("mounts", "kind"), [(V1, "version 1"), (HYBRID, "version 1 and 2 (hybrid), version 1 is used")]
    )
    def test_version_1(self, tmp_path: Path, mounts: str, kind: str) -> None:
        root = self.groups_1(tmp_path, mounts)
        assert kernel.control_groups(root, 0) == ok("control groups", f"{kind}: memory, pids, cpu, cpuacct, writable")
        todo = "Run the workers as root, or boot with systemd.unified_cgroup_hierarchy=1."
        refused = failed("control groups", f"{kind}, which only root can use", todo)
        assert kernel.control_groups(root, 1000) == refused
        (root / "sys/fs/cgroup/memory").rmdir()
        assert kernel.control_groups(root, 0) == failed(
            "control groups", f"{kind}; not writable: memory", "Mount /sys/fs/cgroup writable."
        )

    @pytest.mark.parametrize(
        ("mounts", "found"),
        [
            ("22 1 8:1 / / rw - ext4 /dev/vda rw\n", "none are mounted"),
            (V1.splitlines()[2], "version 1 with memory only"),
        ],
    )
    def test_too_few(self, tmp_path: Path, mounts: str, found: str) -> None:
        root = write(tmp_path, {"proc/self/mountinfo": mounts})
        todo = "Mount /sys/fs/cgroup (version 2), or use Docker."
        assert kernel.control_groups(root, 0) == failed("control groups", found, todo)

    def test_version_2_as_root(self, tmp_path: Path) -> None:
        root = self.groups_2(tmp_path, controllers=UBUNTU, subtree_control="cpuset cpu io memory pids", procs="1\n2\n")
        assert kernel.control_groups(root, 0) == ok("control groups", "version 2: memory, pids, cpu, writable")

    def test_version_2_mounted_read_only(self, tmp_path: Path) -> None:
        root = self.groups_2(tmp_path, controllers=UBUNTU)
        assert kernel.control_groups(root, 0) == failed(
            "control groups", "version 2; its group cannot be written", "Mount /sys/fs/cgroup writable, as root."
        )

    def test_version_2_in_a_container_whose_processes_are_in_its_first_group(self, tmp_path: Path) -> None:
        files = {"controllers": UBUNTU, "subtree_control": "", "type": "domain\n", "procs": "1\n"}
        root = self.groups_2(tmp_path, **files)
        assert kernel.control_groups(root, 0) == failed(
            "control groups",
            "version 2; processes in its own group keep controllers from boxes",
            "Start the programs in a group below it, as systemd does, or give the container the host's groups.",
        )
        (root / "sys/fs/cgroup/cgroup.procs").write_text("")
        assert kernel.control_groups(root, 0).state is State.OK

    def test_version_2_as_a_user(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
        write(tmp_path, {"run/user/1000/systemd/": ""})
        session = "user.slice/user-1000.slice/user@1000.service/"
        root = self.groups_2(tmp_path, session, controllers="memory pids\n", subtree_control="memory pids\n")
        assert kernel.control_groups(root, 1000) == failed(
            "control groups",
            "version 2; this process cannot use cpu",
            "Delegate them: Delegate=yes in the service, or in a drop-in of user@.service.",
        )
        write(root, {f"sys/fs/cgroup/{session}cgroup.controllers": "cpu memory pids\n"})
        assert kernel.control_groups(root, 1000) == ok("control groups", "version 2: memory, pids, cpu, writable")
        found = "version 2; user 1001 has no session of systemd"
        assert kernel.control_groups(root, 1001) == failed("control groups", found, LINGER)

    @pytest.mark.parametrize(
        ("runtime", "found"),
        [
            ("", "XDG_RUNTIME_DIR is not set"),
            ("/nowhere", "XDG_RUNTIME_DIR=/nowhere"),
            ("/run/user/1000", "XDG_RUNTIME_DIR=/run/user/1000"),
        ],
    )
    def test_version_2_as_a_user_whose_processes_do_not_know_the_session(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: str, found: str
    ) -> None:
        """A service of the whole system with ``User=`` cannot make boxes, though the user's session exists."""
        controllers = "cpu memory pids\n"
        session = "user.slice/user-1000.slice/user@1000.service/"
        root = self.groups_2(tmp_path, session, controllers=controllers, subtree_control=controllers)
        write(root, {"run/user/1000/": ""})
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        todo = "Set XDG_RUNTIME_DIR=/run/user/1000 for the workers, or start them with systemctl --user."
        assert kernel.control_groups(root, 1000) == failed(
            "control groups", f"version 2; this process cannot find the session of user 1000: {found}", todo
        )

    def test_boxes_without_limits_are_a_warning(self, tmp_path: Path, settings: Settings) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, sandbox_allow_no_cgroups=True)
        root = write(tmp_path, {"proc/self/mountinfo": ""})
        assert kernel.control_groups(root, 0) == warning(
            "control groups",
            "none are mounted; boxes may run without limits",
            "Set SANDBOX_ALLOW_NO_CGROUPS=false: it is for development only.",
        )


class TestAppArmor:
    ENABLED = "sys/module/apparmor/parameters/enabled"

    def test_a_system_without_it(self, tmp_path: Path) -> None:
        assert kernel.apparmor(tmp_path) == ok("AppArmor", "not used")
        assert kernel.apparmor(write(tmp_path, {self.ENABLED: "N\n"})) == ok("AppArmor", "not used")

    @pytest.mark.parametrize("profile", ["unconfined", "systemd-service (unconfined)"])
    def test_an_unconfined_process(self, tmp_path: Path, profile: str) -> None:
        root = write(tmp_path, {self.ENABLED: "Y\n", "proc/self/attr/current": f"{profile}\n\0"})
        assert kernel.apparmor(root) == ok("AppArmor", f"enabled; profile of this process: {profile}")

    def test_a_confined_process(self, tmp_path: Path) -> None:
        profile = "docker-default (enforce)\n"
        root = write(tmp_path, {self.ENABLED: "Y\n", "proc/self/attr/apparmor/current": profile})
        assert kernel.apparmor(root) == warning(
            "AppArmor",
            "enabled; this process is confined by docker-default (enforce)",
            "If boxes fail: run the workers unconfined, or allow userns, mount and pivot_root in the profile.",
        )


class TestSeccomp:
    FILE = "proc/sys/kernel/seccomp/actions_avail"

    def test_kernel_and_library(self, tmp_path: Path) -> None:
        root = write(tmp_path, {self.FILE: "kill_process kill_thread trap errno user_notif trace log allow\n"})
        found = kernel.seccomp(root)
        assert (found.state, found.found.startswith("kernel and libseccomp work; the filter of a box has ")) == (
            State.OK,
            True,
        )

    def test_a_kernel_without_it(self, tmp_path: Path) -> None:
        todo = "Use a kernel with CONFIG_SECCOMP_FILTER."
        assert kernel.seccomp(tmp_path) == failed("seccomp", "this kernel has none", todo)
