"""The command that makes the box image."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.sandbox.build_image import DOCKERFILE, main, source_digest
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry
from evaluator.sandbox.paper_image import image_id, image_source
from evaluator.sandbox.types import SandboxError
from tests.evaluator.sandbox.boxes import run

pytestmark = pytest.mark.xdist_group("images")

BASE = "lmr-board-test-base"
BUILT = "lmr-board-test-built"

needs_base = pytest.mark.skipif(
    subprocess.run(["docker", "image", "inspect", BASE], capture_output=True, check=False).returncode != 0
    if shutil.which("docker")
    else True,
    reason=f"the image {BASE} is not here: scripts/make_test_base_image.sh makes it",
)


@pytest.fixture
def built_image() -> Iterator[str]:
    """The name of an image that the test makes."""
    yield BUILT
    subprocess.run(["docker", "image", "rm", BUILT], capture_output=True, check=False)


@needs_base
@pytest.mark.docker
def test_it_builds_an_image_that_boxes_run_on(
    docker: DockerSandbox, state_dir: Path, built_image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--base-image", BASE, "--tag", built_image]) == 0
    image = capsys.readouterr().out.strip()
    assert image.startswith("sha256:")
    sandbox = DockerSandbox(state_dir, environments=SHIPPED.with_numpy_image(image))
    try:
        assert run(sandbox, "import numpy; print(numpy.__file__)").stdout == b"/opt/box/packages/numpy/__init__.py\n"
    finally:
        sandbox.close()


@needs_base
@pytest.mark.docker
def test_a_folder_of_packages_serves_as_well_and_the_image_says_what_it_was_made_from(
    docker: DockerSandbox, built_image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for module, source in {"numpy": "", "broken": "def f[T](: pass\n"}.items():
        (tmp_path / "packages" / module).mkdir(parents=True)
        (tmp_path / "packages" / module / "__init__.py").write_text(source)
    packages = tmp_path / "packages"
    assert main(["--base-image", BASE, "--tag", built_image, "--environment", "x", "--packages", str(packages)]) == 0
    assert image_source(built_image) == source_digest(EnvironmentEntry("x", packages=packages), BASE)
    assert image_id(built_image) == capsys.readouterr().out.strip()


@needs_base
@pytest.mark.docker
def test_packages_without_numpy_make_no_image(
    docker: DockerSandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--base-image", BASE, "--tag", BUILT, "--packages", str(tmp_path)]) == 1
    assert "No module named 'numpy'" in capsys.readouterr().err
    assert image_id(BUILT) is None


def test_the_source_is_the_packages_the_base_and_the_recipe(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("one")
    entry = EnvironmentEntry("x", requirements=lock)
    first = source_digest(entry, BASE)
    assert source_digest(entry, BASE) == first
    assert source_digest(entry, "another") != first
    lock.write_text("two")
    assert source_digest(entry, BASE) != first


def test_a_source_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"environment 'x' cannot be read: .*/gone"):
        source_digest(EnvironmentEntry("x", packages=tmp_path / "gone"), BASE)


def test_an_unknown_environment_ends_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--environment", "fortran"]) == 1
    assert "environment 'fortran'" in capsys.readouterr().err


def test_the_base_can_be_chosen() -> None:
    assert "ARG BASE_IMAGE=python:3.11-slim-bookworm\nFROM ${BASE_IMAGE}\n" in DOCKERFILE.read_text()
