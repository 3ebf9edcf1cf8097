"""Checks of the sandbox: real boxes, an engine that does not answer, and what programs and engines report."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from evaluator.auditing import self_checks
from evaluator.models import SelfCheck
from evaluator.outcomes import Outcome
from evaluator.sandbox.configuration import configured_sandbox
from evaluator.testing.verdicts import Verdict
from leaderboard.doctor import sandbox
from leaderboard.doctor.findings import State, failed, ok, warning
from tests.evaluator.conftest import docker_is_configured, real_sandbox, small_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django import Settings

    from benchmark_tasks.models import SuiteVersion
    from evaluator.sandbox.interface import Sandbox

__all__ = ["docker_is_configured", "real_sandbox", "small_version"]
ENGINE = {
    # From docker info of Debian's engine.
    "ServerVersion": "20.10.24+dfsg1",
    "CgroupDriver": "systemd",
    "CgroupVersion": "2",
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=apparmor", "name=seccomp,profile=default", "name=cgroupns"],
}
CURRENT = "Install a current engine: 25 or newer (docs/sandboxes.md)."


@pytest.fixture
def use(settings: Settings) -> Callable[..., None]:
    """Continue with these settings."""

    def change(**values: Any) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **values)

    return change


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Make a program that prints a text; no other one is on PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def make(name: str, text: str) -> Path:
        file = tmp_path / "bin" / name
        file.write_text(f"#!/bin/sh\necho '{text}'\necho more\n")
        file.chmod(0o755)
        return file

    return make


@pytest.fixture
def empty_host(settings: Settings) -> Iterator[Path]:
    """A data folder through which every user may pass, so that nothing of other instances is found."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        settings.DATA_DIR = Path(folder)
        yield Path(folder)


def test_a_host_that_runs_no_boxes_needs_no_sandbox(settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, pools=["site", "model_calls"], evaluator_sandbox="docker")
    found = "not needed with POOLS=site,model_calls, except for agents of models"
    assert list(sandbox.findings()) == [ok("sandbox", found)]


@pytest.mark.bubblewrap
@pytest.mark.smoke
def test_a_host_on_which_bubblewrap_works(real_sandbox: Sandbox, small_version: SuiteVersion) -> None:
    if real_sandbox.name != "bubblewrap":
        pytest.skip("this machine has other boxes")
    found = list(sandbox.findings())
    assert found[0] == ok("sandbox", "bubblewrap (EVALUATOR_SANDBOX=auto) makes boxes")
    assert [each.name for each in found[1:]] == [
        *("bubblewrap", "user namespaces", "control groups", "AppArmor", "seccomp", "Docker"),
        *("environments", "canary box"),
    ]
    assert State.FAILED not in {each.state for each in found}
    assert found[-3:-1] == [ok("Docker", "not used"), ok("environments", "1 of 1 ready here: numpy")]
    assert found[-1].found.startswith("a right answer passed and a stub failed, in ")
    assert not SelfCheck.objects.exists()


@pytest.mark.docker
@pytest.mark.smoke
def test_a_host_on_which_docker_works(docker_is_configured: Sandbox, small_version: SuiteVersion) -> None:
    found = list(sandbox.findings())
    assert found[0] == ok("sandbox", "docker (EVALUATOR_SANDBOX=docker) makes boxes")
    assert [each.name for each in found[1:]] == ["Docker", "disk of Docker", "environments", "canary box"]
    assert found[3] == ok("environments", "1 of 1 ready here: numpy")
    assert (found[4].state, not SelfCheck.objects.exists()) == (State.OK, True)


@pytest.mark.bubblewrap
@pytest.mark.django_db
def test_an_evaluator_that_misjudges_has_failed(real_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = Verdict(outcome=Outcome.PASSED, cases=(), log="", seconds=0.0)
    monkeypatch.setattr(self_checks, "grade", lambda **_: passed)
    found = sandbox.canary()
    assert (found.state, found.found) == (State.FAILED, "stub must end with any failure and ended with passed: ")


def test_nothing_is_installed_where_the_environment_is_not_made(use: Callable[..., None], empty_host: Path) -> None:
    use(evaluator_sandbox="bubblewrap")
    found = list(sandbox.findings())
    assert found[0] == failed(
        "sandbox",
        "bubblewrap: the environment numpy is not made on this host: run manage.py prepare_evaluator, which make "
        "setup does, too",
        "The lines below show what it lacks; docs/sandboxes.md has the details.",
    )
    assert found[-1] == ok("Docker", "not used")
    assert [path.name for path in empty_host.rglob("*")] == ["sandbox"]


def test_an_engine_that_does_not_answer(
    use: Callable[..., None], empty_host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    use(evaluator_sandbox="docker")
    boxes, engine = sandbox.findings()
    reason = (
        "no Docker engine answers (/nowhere/docker.sock does not exist): start it, or set DOCKER_HOST; its users are "
        "in group docker"
    )
    assert (boxes.state, boxes.found.endswith(f"docker: {reason}")) == (State.FAILED, True)
    assert engine == failed("Docker", reason, "Start the engine, or let this user reach it (docs/sandboxes.md).")
    use(evaluator_sandbox="auto")
    boxes, *_, engine = sandbox.findings()
    assert "bubblewrap: the environment numpy is not made on this host" in boxes.found
    assert engine.found == reason


@pytest.mark.docker
@pytest.mark.django_db
def test_auto_names_why_docker_is_used_instead(
    docker_is_configured: Sandbox, use: Callable[..., None], program: Callable[[str, str], Path]
) -> None:
    program("another", "")  # no bwrap is on PATH
    use(evaluator_sandbox="auto", sandbox_python=Path("/nowhere/python3"))
    boxes, why, bubblewrap, *_ = sandbox.findings()
    assert boxes == ok("sandbox", "docker (EVALUATOR_SANDBOX=auto) makes boxes")
    assert (why.name, why.state) == ("sandbox", State.WARNING)
    assert why.found.startswith("bubblewrap: ")
    install = "Install it (Debian: apt-get install bubblewrap)."
    assert bubblewrap == warning("bubblewrap", "bwrap is not on PATH", install)


def test_bubblewrap_versions(program: Callable[[str, str], Path]) -> None:
    missing = failed("bubblewrap", "bwrap is not on PATH", "Install it (Debian: apt-get install bubblewrap).")
    assert sandbox.bubblewrap() == missing
    program("bwrap", "bubblewrap 0.4.1")
    todo = "Install version 0.8 or newer: older ones were not tried."
    assert sandbox.bubblewrap() == warning("bubblewrap", "bubblewrap 0.4.1", todo)
    program("bwrap", "bubblewrap 0.11.0")
    assert sandbox.bubblewrap() == ok("bubblewrap", "bubblewrap 0.11.0")


@pytest.mark.parametrize(
    ("version", "state", "end"),
    [
        ("28.2.2", State.OK, ""),
        ("24.0.0", State.OK, ""),
        ("23.0.6", State.WARNING, ": old"),
        ("20.10.24+dfsg1", State.WARNING, ": old"),
        ("19.03.8", State.FAILED, ""),
    ],
)
def test_engine_versions(version: str, state: State, end: str) -> None:
    found = sandbox.engine_finding(ENGINE | {"ServerVersion": version}, "2026-05-07T21:09:36.000000000+00:00")
    text = "built 2026-05-07, control groups version 2 by systemd, without user namespaces (userns-remap)"
    todo = "" if state is State.OK else CURRENT
    assert found == ("Docker", state, f"engine {version}, {text}{end}", todo)


def test_engines_with_user_namespaces_and_without_limits() -> None:
    facts = ENGINE | {"ServerVersion": "27.0.1", "SecurityOptions": ["name=userns"], "CgroupVersion": "1"}
    text = "engine 27.0.1, built at an unknown time, control groups version 1 by systemd, with user namespaces"
    assert sandbox.engine_finding(facts, "") == ok("Docker", f"{text} (userns-remap)")
    lacking = failed("Docker", f"{text} (userns-remap); it lacks PidsLimit", "Give the engine control groups.")
    assert sandbox.engine_finding(facts | {"PidsLimit": False}, "") == lacking


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("runsc version 0.0~20221219.0", False),
        ("runsc version release-20240729.0", False),
        ("runsc version release-20221212.0", True),
    ],
    ids=["oldest that was tried, of Debian bookworm", "newer", "older"],
)
def test_releases_of_gvisor(program: Callable[[str, str], Path], text: str, old: bool) -> None:
    known = {"runc": {"path": "runc"}, "runsc": {"path": str(program("runsc", text))}}
    todo = "Install release 20221219, the oldest that was tried, or a newer one."
    expected = warning("runtime", f"runsc: {text}", todo) if old else ok("runtime", f"runsc: {text}")
    assert sandbox.runtime("runsc", known) == expected


def test_other_runtimes(program: Callable[[str, str], Path]) -> None:
    known = {"runc": {"path": "runc"}, "kata": {"path": str(program("kata", "kata-runtime 3.2.0"))}, "lost": {}}
    assert sandbox.runtime("kata", known) == ok("runtime", "kata: kata-runtime 3.2.0")
    assert sandbox.runtime("lost", known) == ok("runtime", "lost: its version is unknown")
    assert sandbox.runtime("runsc", known) == failed(
        "runtime",
        "the engine does not know runsc, which SANDBOX_RUNTIME names; it has kata, lost, runc",
        "Install it and name it in the engine's daemon.json (docs/sandboxes.md).",
    )


@pytest.mark.bubblewrap
class TestEnvironments:
    def test_environments_that_are_not_made(
        self, real_sandbox: Sandbox, small_version: SuiteVersion, tmp_path: Path, use: Callable[..., None]
    ) -> None:
        (tmp_path / "own.txt").write_text("")
        (tmp_path / "list.toml").write_text(
            '[environments.own]\nrequirements = "own.txt"\n[tasks]\n"small/alpha/*" = "own"\n'
        )
        small_version.revisions.update(environment="")
        use(environments_file=tmp_path / "list.toml")
        assert sandbox.environments(configured_sandbox()) == warning(
            "environments",
            "0 of 1 ready here: none; not ready: own (2 tasks)",
            "manage.py build_images makes them, and shows what tasks lack.",
        )

    def test_tasks_without_an_environment(self, real_sandbox: Sandbox, small_version: SuiteVersion) -> None:
        small_version.revisions.filter(task__index=2).update(environment="")
        found = "1 of 1 ready here: numpy; tasks without an environment: 1"
        assert sandbox.environments(real_sandbox).found == found

    def test_without_a_database(self, real_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(connection.settings_dict, "NAME", tmp_path / "db.sqlite3")
        assert sandbox.environments(real_sandbox) == ok("environments", "unknown without a database")
