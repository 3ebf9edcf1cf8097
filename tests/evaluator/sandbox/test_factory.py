"""Which sandbox is chosen, and why none."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import EnvironmentEntry, EnvironmentList
from evaluator.sandbox.factory import KINDS, Kind, SandboxSettings, choose, make
from evaluator.sandbox.types import SandboxError, SandboxUnavailableError


@pytest.mark.bubblewrap
def test_auto_prefers_bubblewrap(bubblewrap: BubblewrapSandbox, state_dir: Path) -> None:
    assert choose("auto", SandboxSettings(state_dir)).name == "bubblewrap"


@pytest.mark.docker
def test_auto_falls_back_to_docker(docker: DockerSandbox, state_dir: Path) -> None:
    docker.check()
    chosen = choose("auto", SandboxSettings(state_dir, python=Path("/nowhere/python")))
    assert isinstance(chosen, DockerSandbox)
    chosen.close()


@pytest.mark.docker
def test_the_kind_asked_for_is_the_kind_given(docker: DockerSandbox, state_dir: Path) -> None:
    chosen = choose("docker", SandboxSettings(state_dir))
    assert isinstance(chosen, DockerSandbox)
    chosen.close()


@pytest.mark.docker
def test_with_neither_both_reasons_are_told(docker: DockerSandbox, state_dir: Path) -> None:
    settings = SandboxSettings(state_dir, python=Path("/nowhere/python"), docker_image="lmr-board-no-such-image")
    with pytest.raises(SandboxUnavailableError) as caught:
        choose("auto", settings)
    message = str(caught.value)
    assert (
        "bubblewrap: bubblewrap cannot make a box here: the boxes' interpreter /nowhere/python cannot be read"
        in message
    )
    assert (
        "lmr-board-no-such-image of the environment 'numpy' is missing: make it with manage.py build_images" in message
    )


def test_an_unknown_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="sandbox 'chroot' is unknown"):
        choose(cast("Kind", "chroot"), SandboxSettings(tmp_path))


def test_each_sandbox_gets_the_operators_environments_and_the_image_of_numpy(tmp_path: Path) -> None:
    environments = EnvironmentList((EnvironmentEntry("own", image="own-image"),))
    settings = SandboxSettings(tmp_path, docker_image="numpy-image", environments=environments)
    for kind in KINDS:
        found = vars(make(kind, settings))["_environments"]
        assert (found.image("own"), found.image("numpy")) == ("own-image", "numpy-image")
