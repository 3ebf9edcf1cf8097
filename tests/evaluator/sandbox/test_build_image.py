"""The command that makes the box image."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from evaluator.sandbox.build_image import DOCKERFILE, main
from evaluator.sandbox.docker_engine import DockerSandbox
from tests.evaluator.sandbox.boxes import run

BASE = "lmr-board-test-base"


@pytest.mark.docker
def test_it_builds_an_image_that_boxes_run_on(
    docker: DockerSandbox, state_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if subprocess.run(["docker", "image", "inspect", BASE], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"the image {BASE} is not here: scripts/make_test_base_image.sh makes it")
    assert main(["--base-image", BASE, "--tag", "lmr-board-test-built"]) == 0
    image = capsys.readouterr().out.strip()
    assert image.startswith("sha256:")
    sandbox = DockerSandbox(image, state_dir)
    try:
        assert run(sandbox, "import numpy; print(numpy.__file__)").stdout == b"/opt/box/packages/numpy/__init__.py\n"
    finally:
        sandbox.close()
        subprocess.run(["docker", "image", "rm", "lmr-board-test-built"], capture_output=True, check=True)


def test_an_unknown_environment_ends_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--environment", "fortran"]) == 1
    assert "environment 'fortran'" in capsys.readouterr().err


def test_the_base_can_be_chosen() -> None:
    assert "ARG BASE_IMAGE=python:3.11-slim-bookworm\nFROM ${BASE_IMAGE}\n" in DOCKERFILE.read_text()
