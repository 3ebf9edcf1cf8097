"""Docker images of environments: from a requirements file, and from papers' Dockerfiles."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.sandbox import images
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry
from evaluator.sandbox.images import (
    BuildFailedError,
    PaperSource,
    build_paper_image,
    image_id,
    image_source,
    image_source_digest,
    main,
    write_context,
)
from evaluator.sandbox.types import SandboxError
from tests.evaluator.sandbox.boxes import run

pytestmark = pytest.mark.xdist_group("images")

BASE = "lmr-board-test-base"
TAG = "lmr-board-test-image"
DOCKERFILE = """\
ARG BASE_IMAGE=python:3.11-slim-bookworm
FROM ${BASE_IMAGE}
ARG UID
ARG GID
ARG DIR
WORKDIR /workspace
COPY . .
RUN find . -type f | sort; echo "for ${UID}:${GID} in ${DIR}"; printf 'x\\033[31mred\\033[0m\\n'
"""

needs_base = pytest.mark.skipif(
    subprocess.run(["docker", "image", "inspect", BASE], capture_output=True, check=False).returncode != 0
    if shutil.which("docker")
    else True,
    reason=f"the image {BASE} is not here: scripts/make_test_base_image.sh makes it",
)


@pytest.fixture
def image(docker: DockerSandbox) -> Iterator[str]:
    """The name of an image that the test makes from a base that is here."""
    docker.check()
    yield TAG
    subprocess.run(["docker", "image", "rm", TAG], capture_output=True, check=False)


@needs_base
@pytest.mark.docker
def test_it_builds_an_image_that_boxes_run_on_and_that_says_what_it_was_made_from(
    state_dir: Path, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--base-image", BASE, "--tag", image]) == 0
    made = capsys.readouterr().out.strip()
    assert image_id(image) == made
    assert image_source(image) == image_source_digest(SHIPPED.entry("numpy"), BASE)
    sandbox = DockerSandbox(state_dir, environments=SHIPPED.with_numpy_image(made))
    try:
        assert run(sandbox, "import numpy; print(numpy.__file__)").stdout == b"/opt/box/packages/numpy/__init__.py\n"
    finally:
        sandbox.close()


@needs_base
@pytest.mark.docker
def test_requirements_without_numpy_make_no_image(
    image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare.txt").write_text("")
    assert main(["--base-image", BASE, "--tag", image, "--requirements", str(tmp_path / "bare.txt")]) == 1
    assert "failed with exit code" in capsys.readouterr().err
    assert image_id(image) is None


def test_the_source_is_the_requirements_the_base_and_the_recipe(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("one")
    entry = EnvironmentEntry("x", requirements=lock)
    first = image_source_digest(entry, BASE)
    assert image_source_digest(entry, BASE) == first
    assert image_source_digest(entry, "another") != first
    lock.write_text("two")
    assert image_source_digest(entry, BASE) != first
    lock.unlink()
    with pytest.raises(SandboxError, match=r"environment 'x': .*/lock\.txt cannot be read"):
        image_source_digest(entry, BASE)


@pytest.fixture
def source(tmp_path: Path) -> PaperSource:
    """A paper with what people leave in repositories, data and litter included."""
    repository = tmp_path / "stored"
    files = {
        "requirements.txt": b"numpy\n",
        "model/loss.py": b"raise NotImplementedError\n",
        "unit_test/unit_test_1.py": b"",
        "unit_test/tensors/losses.pt": b"",
        "weights/model.safetensors": b"",
        "data.zip": b"",
        ".git/HEAD": b"",
        "big [1].json": b"x" * (images.LARGEST_FILE_BYTES + 1),
        "small.json": b"{}",
    }
    for name, content in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_bytes(content)
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    return PaperSource(tmp_path / "Dockerfile", repository, "the-repository")


def build(source: PaperSource, scratch: Path, *, seconds: float = 120) -> str:
    return build_paper_image(
        source, tag=TAG, base_image=BASE, network="none", seconds=seconds, scratch=scratch, label="a-source"
    )


def test_a_context_holds_the_repository_the_dockerfile_and_the_ignore_file_alone(
    source: PaperSource, tmp_path: Path
) -> None:
    context = tmp_path / "context"
    context.mkdir()
    write_context(source, context)
    assert sorted(path.name for path in context.iterdir()) == [".dockerignore", "Dockerfile", "the-repository"]
    assert (context / ".dockerignore").read_text().splitlines()[-1] == r"the-repository/big \[1\].json"


@needs_base
@pytest.mark.docker
def test_a_papers_image_holds_the_sources_but_no_test_and_no_data(
    source: PaperSource, image: str, tmp_path: Path
) -> None:
    log = build(source, tmp_path)
    begun = log.index("./.dockerignore") if "./.dockerignore" in log else log.index("./Dockerfile")
    listed = [line for line in log[begun:].splitlines() if line.startswith("./the-repository")]
    assert listed == [
        "./the-repository/model/loss.py",
        "./the-repository/requirements.txt",
        "./the-repository/small.json",
    ]
    assert "for 10001:10001 in the-repository\nxred\n" in log
    assert image_source(image) == "a-source"


@needs_base
@pytest.mark.docker
def test_a_failed_build_keeps_the_end_of_its_log(source: PaperSource, image: str, tmp_path: Path) -> None:
    source.dockerfile.write_text(f"{DOCKERFILE}RUN seq 1 40000 && echo 'no such package' >&2 && exit 7\n")
    with pytest.raises(BuildFailedError, match=f"building {TAG} failed with exit code 7|exit code 1") as failed:
        build(source, tmp_path)
    assert "no such package" in failed.value.log
    assert len(failed.value.log) == images.LOG_CHARACTERS
    assert (image_id(image), image_source(image)) == (None, "")


@needs_base
@pytest.mark.docker
def test_a_build_that_takes_too_long_is_ended(source: PaperSource, image: str, tmp_path: Path) -> None:
    source.dockerfile.write_text(f"{DOCKERFILE}RUN sleep 300\n")
    with pytest.raises(BuildFailedError, match=r"took longer than 5 seconds \(BUILD_SECONDS\)") as failed:
        build(source, tmp_path, seconds=5)
    assert "FROM" in failed.value.log
    assert not list(tmp_path.glob("paper-*"))
