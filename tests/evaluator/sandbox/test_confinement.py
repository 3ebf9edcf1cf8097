"""Scopes of a user session and the shell that reports from them, as far as they can be tried without systemd."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from evaluator.sandbox import confinement
from evaluator.sandbox.cgroups import ResourceUsage
from evaluator.sandbox.confinement import REPORT_COUNTERS, ScopeConfinement, scope_command, tool
from evaluator.sandbox.types import Limits, SandboxError, SandboxUnavailableError

LIMITS = Limits(memory_bytes=1000, processes=10)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What systemd leaves in a user's runtime folder, and its program."""
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd-run").write_text("#!/bin/sh\n")
    (tmp_path / "systemd-run").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.usefixtures("session")
def test_a_scope_has_every_limit() -> None:
    command = scope_command("run-1.x", LIMITS, 9)
    assert command[1:6] == ["--user", "--scope", "--quiet", "--collect", "--unit=lmr-board-run-1.x.scope"]
    assert command[6:11] == [
        "--property=MemoryMax=1000",
        "--property=MemorySwapMax=0",
        "--property=TasksMax=14",
        "--property=CPUQuota=100%",
        "--property=Delegate=yes",
    ]
    assert command[12:14] == ["--pdeathsig", "KILL"]
    assert command[-1] == "9"


def test_without_a_session_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    with pytest.raises(SandboxUnavailableError, match=r"run the worker as root, or in a systemd user session"):
        scope_command("run-1", LIMITS, 9)


@pytest.mark.usefixtures("session")
def test_the_final_report_is_read() -> None:
    scope = ScopeConfinement("run-1", LIMITS, 9)
    report = '{ "child-pid": 5 }\n{ "exit-code": 137 }\nlow 0\noom_kill 2\nusage_usec 1500000\n'
    assert scope.final_usage(report) == ResourceUsage(oom_kills=2, cpu_seconds=1.5, peak_memory=None)
    assert scope.final_usage("") == ResourceUsage()
    assert scope.destroy() == set()


@pytest.mark.usefixtures("session")
def test_a_process_outside_any_scope_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "_APPEAR_SECONDS", 0.05)
    with pytest.raises(SandboxError, match="did not give box run-1 a scope"):
        ScopeConfinement("run-1", LIMITS, 9).started(os.getpid())


def test_a_missing_program_is_named_with_its_package() -> None:
    with pytest.raises(SandboxUnavailableError, match=r"no-such-tool is not on PATH: .*apt-get install its-package"):
        tool("no-such-tool", "its-package")


def test_the_shell_beside_the_box_ends_as_the_box_did() -> None:
    reader, writer = os.pipe()
    command = ["sh", "-c", REPORT_COUNTERS, "sh", str(writer), "sh", "-c", "exit 7"]
    done = subprocess.run(command, pass_fds=[writer], stderr=subprocess.DEVNULL, check=False)
    os.close(reader)
    os.close(writer)
    assert done.returncode == 7
