"""The sandbox that the settings select, why there may be none, and each process's scratch folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.queue.processes import Owner
from evaluator.sandbox import configuration
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.configuration import KINDS, configured_sandbox, make_sandbox, scratch_folder, sweep_scratch
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.interface import SandboxError, SandboxUnavailableError
from evaluator.sweep import reconcile


@pytest.fixture
def configure(settings: Any) -> Iterator[Callable[..., None]]:
    """Changes settings of sandboxes; the cache of checked sandboxes is cleared before and afterwards."""

    def change(**values: Any) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **values)

    configuration._checked.cache_clear()
    yield change
    configuration._checked.cache_clear()


def test_auto_prefers_bubblewrap(bubblewrap: BubblewrapSandbox, configure: Callable[..., None]) -> None:
    configure(evaluator_sandbox="auto")
    assert configured_sandbox().name == "bubblewrap"
    assert configured_sandbox() is configured_sandbox()


@pytest.mark.parametrize(
    "values",
    [
        {"evaluator_sandbox": "auto", "sandbox_python": Path("/nowhere/python")},
        {"evaluator_sandbox": "docker"},
        {"evaluator_sandbox": "auto", "sandbox_runtime": "runc"},
    ],
    ids=["where bubblewrap cannot run", "by its name", "by its runtime"],
)
def test_docker_is_selected(docker: DockerSandbox, configure: Callable[..., None], values: dict[str, Any]) -> None:
    configure(**values)
    chosen = configured_sandbox()
    assert isinstance(chosen, DockerSandbox)
    chosen.close()


def test_with_neither_both_reasons_are_reported(docker: DockerSandbox, configure: Callable[..., None]) -> None:
    configure(evaluator_sandbox="auto", sandbox_python=Path("/nowhere/python"), sandbox_image="lmr-board-no-such-image")
    with pytest.raises(SandboxUnavailableError) as caught:
        configured_sandbox()
    message = str(caught.value)
    assert "bubblewrap: bubblewrap cannot make a box here: the boxes' interpreter /nowhere/python cannot" in message
    assert "docker: the box image lmr-board-no-such-image of the environment 'numpy' is missing" in message


def test_a_runtime_is_for_docker_only(configure: Callable[..., None]) -> None:
    configure(evaluator_sandbox="bubblewrap", sandbox_runtime="runc")
    with pytest.raises(SandboxError, match="SANDBOX_RUNTIME is for Docker only"):
        configured_sandbox()


def dead_owner() -> str:
    """The name of a process that has ended."""
    result = subprocess.run(
        [sys.executable, "-c", "from evaluator.queue.processes import Owner; print(Owner.current())"],
        capture_output=True, check=True,
    )  # fmt: skip
    return result.stdout.decode().strip()


def test_only_folders_of_dead_processes_are_swept(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    assert sweep_scratch() == 0
    mine = scratch_folder()
    assert mine == tmp_path / "work" / str(Owner.current())
    (mine / "tree").mkdir()
    left, other = tmp_path / "work" / dead_owner(), tmp_path / "work" / "something-else"
    (left / "tree").mkdir(parents=True)
    (left / "tree" / "file").write_text("x")
    other.mkdir()
    assert sweep_scratch() == 1
    assert sorted((tmp_path / "work").iterdir()) == sorted([mine, other])
    assert (mine / "tree").is_dir()


def test_folders_of_other_containers_are_swept_after_a_day(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    elsewhere = Owner(namespace=1, pid=2, started=3)
    young, old = (tmp_path / "work" / str(replace(elsewhere, pid=pid)) for pid in (4, 5))
    for folder, hours in ((young, 23), (old, 25)):
        folder.mkdir(parents=True)
        then = time.time() - hours * 3600
        os.utime(folder, (then, then))
    assert sweep_scratch() == 1
    assert list((tmp_path / "work").iterdir()) == [young]


@pytest.mark.django_db
def test_the_sweep_removes_folders_of_dead_processes(settings: Any, redis_url: str) -> None:
    left = settings.DATA_DIR / "work" / dead_owner()
    left.mkdir(parents=True)
    reconcile()
    assert not left.exists()


def test_each_sandbox_gets_the_operators_environments_and_the_image_of_numpy(
    configure: Callable[..., None], tmp_path: Path
) -> None:
    file = tmp_path / "environments.toml"
    file.write_text("[environments.own]\nimage = 'own-image'\n")
    configure(environments_file=file, sandbox_image="numpy-image")
    for kind in KINDS:
        found = vars(make_sandbox(kind))["_environments"]
        assert (found.image("own"), found.image("numpy")) == ("own-image", "numpy-image")
