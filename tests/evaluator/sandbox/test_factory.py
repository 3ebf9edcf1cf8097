"""Which sandbox is chosen, and why none."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.factory import Kind, SandboxSettings, choose
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
    assert "docker: looking for the box image lmr-board-no-such-image: the image is missing" in message


def test_an_unknown_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="sandbox 'chroot' is unknown"):
        choose(cast("Kind", "chroot"), SandboxSettings(tmp_path))
