"""Which sandbox the settings ask for, and why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox import configuration
from evaluator.sandbox.bubblewrap import BubblewrapSandbox
from evaluator.sandbox.configuration import KINDS, configured_sandbox, make_sandbox
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.types import SandboxError, SandboxUnavailableError


@pytest.fixture
def configure(settings: Any) -> Iterator[Callable[..., None]]:
    """Changes settings of sandboxes; what was found before does not count, nor afterwards."""

    def change(**values: Any) -> None:
        settings.ENVIRONMENT = replace(settings.ENVIRONMENT, **values)

    configuration._checked.cache_clear()
    yield change
    configuration._checked.cache_clear()


@pytest.mark.bubblewrap
def test_auto_prefers_bubblewrap(bubblewrap: BubblewrapSandbox, configure: Callable[..., None]) -> None:
    configure(evaluator_sandbox="auto")
    assert configured_sandbox().name == "bubblewrap"
    assert configured_sandbox() is configured_sandbox()


@pytest.mark.docker
@pytest.mark.parametrize(
    "values",
    [
        {"evaluator_sandbox": "auto", "sandbox_python": Path("/nowhere/python")},
        {"evaluator_sandbox": "docker"},
        {"evaluator_sandbox": "auto", "sandbox_runtime": "runc"},
    ],
    ids=["where bubblewrap cannot run", "asked for", "by its runtime"],
)
def test_docker_is_taken(docker: DockerSandbox, configure: Callable[..., None], values: dict[str, Any]) -> None:
    configure(**values)
    chosen = configured_sandbox()
    assert isinstance(chosen, DockerSandbox)
    chosen.close()


@pytest.mark.docker
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


def test_each_sandbox_gets_the_operators_environments_and_the_image_of_numpy(
    configure: Callable[..., None], tmp_path: Path
) -> None:
    file = tmp_path / "environments.toml"
    file.write_text("[environments.own]\nimage = 'own-image'\n")
    configure(environments_file=file, sandbox_image="numpy-image")
    for kind in KINDS:
        found = vars(make_sandbox(kind))["_environments"]
        assert (found.image("own"), found.image("numpy")) == ("own-image", "numpy-image")
