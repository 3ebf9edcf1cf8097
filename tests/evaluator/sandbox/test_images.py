"""Docker images of environments: made from requirements and papers' Dockerfiles, and what boxes take from them."""

from __future__ import annotations

import importlib
import io
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox import images
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import SHIPPED, EnvironmentEntry, EnvironmentList
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
from evaluator.sandbox.types import BoxSpec, SandboxError, SandboxUnavailableError
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
def test_a_build_that_takes_too_long_is_ended(source: PaperSource, image: str, tmp_path: Path) -> None:
    source.dockerfile.write_text(f"{DOCKERFILE}RUN sleep 300\n")
    with pytest.raises(BuildFailedError, match=r"took longer than 5 seconds \(BUILD_SECONDS\)") as failed:
        build(source, tmp_path, seconds=5)
    assert "FROM" in failed.value.log
    assert not list(tmp_path.glob("paper-*"))


PAPERS_OWN = """
FROM lmr-board-box-numpy
USER root
RUN mkdir -p /opt/own/bin /data && cp -L /usr/bin/python3 /opt/own/bin/ && echo seen > /data/file && chmod -R 777 /data
ENV PATH=/opt/own/bin:$PATH OWN=set HOME=/root
VOLUME /data
HEALTHCHECK --interval=1s CMD touch /tmp/healthy
ENTRYPOINT ["/bin/false"]
WORKDIR /data
"""


@pytest.fixture
def client(docker: DockerSandbox) -> Iterator[Any]:
    """The SDK's client; the SDK has no types."""
    made = importlib.import_module("docker").from_env()
    yield made
    made.close()


@pytest.fixture
def papers_own(client: Any, state_dir: Path) -> Iterator[DockerSandbox]:
    """A sandbox whose environment ``own`` is an image with a mind of its own."""
    tag = "lmr-board-test-own"
    client.images.build(fileobj=io.BytesIO(PAPERS_OWN.encode()), tag=tag, network_mode="none", rm=True)
    sandbox = DockerSandbox(state_dir, environments=EnvironmentList((EnvironmentEntry("own", image=tag),)))
    yield sandbox
    sandbox.close()
    client.images.remove(tag, force=True)


def in_own(sandbox: DockerSandbox, code: str) -> bytes:
    result = sandbox.run(BoxSpec(label="own", argv=("python", "-c", code), mounts=(), environment="own"))
    assert result.exit_code == 0, result
    return result.stdout


@pytest.mark.docker
def test_the_images_own_python_is_started(papers_own: DockerSandbox) -> None:
    code = (
        "import os, sys, numpy; print(sys.executable, os.environ['OWN'], os.environ['HOME'], os.getcwd(), os.getuid())"
    )
    assert in_own(papers_own, code) == b"/opt/own/bin/python3 set /tmp /tmp 65534\n"


@pytest.mark.docker
def test_volumes_of_an_image_are_empty_and_cannot_be_written(papers_own: DockerSandbox, client: Any) -> None:
    """They would be folders on the host's disk that nothing limits."""
    before = len(client.volumes.list())
    code = "import os\ntry: open('/data/x', 'w')\nexcept OSError as error: print(error.strerror, os.listdir('/data'))"
    assert in_own(papers_own, code) == b"Read-only file system []\n"
    assert len(client.volumes.list()) == before


@pytest.mark.docker
def test_a_missing_image_is_named_with_the_command_that_makes_it(docker: DockerSandbox, state_dir: Path) -> None:
    environments = EnvironmentList((EnvironmentEntry("own", image="lmr-board-no-such-image"),))
    sandbox = DockerSandbox(state_dir, environments=environments)
    expected = r"lmr-board-no-such-image of the environment 'own' is missing: make it with manage\.py build_images"
    with pytest.raises(SandboxUnavailableError, match=expected) as caught:
        in_own(sandbox, "pass")
    with pytest.raises(SandboxUnavailableError, match=expected):
        sandbox.environment_digest("own")
    assert caught.value.public == "the environment's image is missing"
    sandbox.close()


@pytest.mark.docker
def test_an_unknown_runtime_is_refused_with_those_that_are_known(docker: DockerSandbox, state_dir: Path) -> None:
    sandbox = DockerSandbox(state_dir, runtime="lmr-board-no-such-runtime")
    with pytest.raises(
        SandboxUnavailableError,
        match=r"does not know the runtime 'lmr-board-no-such-runtime' that SANDBOX_RUNTIME names; it has .*runc",
    ):
        sandbox.check()
    sandbox.close()


@pytest.mark.docker
def test_a_named_runtime_is_used_and_part_of_the_digest(docker: DockerSandbox, state_dir: Path) -> None:
    sandbox = DockerSandbox(state_dir, runtime="runc")
    sandbox.check()
    assert run(sandbox, "print('by runc')").stdout == b"by runc\n"
    assert sandbox.environment_digest("numpy") != docker.environment_digest("numpy")
    sandbox.close()
