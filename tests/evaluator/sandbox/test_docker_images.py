"""What images and runtimes are to Docker boxes: whose Python is started, what has no say, what is missing."""

from __future__ import annotations

import importlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.environment_list import EnvironmentEntry, EnvironmentList
from evaluator.sandbox.types import BoxSpec, SandboxError, SandboxUnavailableError
from tests.evaluator.sandbox.boxes import run

# One engine, and images are named by what they hold: two processes would remove each other's.
pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("images")]

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


def test_the_images_own_python_is_started(papers_own: DockerSandbox) -> None:
    code = (
        "import os, sys, numpy; print(sys.executable, os.environ['OWN'], os.environ['HOME'], os.getcwd(), os.getuid())"
    )
    assert in_own(papers_own, code) == b"/opt/own/bin/python3 set /tmp /tmp 65534\n"


def test_volumes_of_an_image_are_empty_and_cannot_be_written(papers_own: DockerSandbox, client: Any) -> None:
    """They would be folders on the host's disk that nothing limits."""
    before = len(client.volumes.list())
    code = "import os\ntry: open('/data/x', 'w')\nexcept OSError as error: print(error.strerror, os.listdir('/data'))"
    assert in_own(papers_own, code) == b"Read-only file system []\n"
    assert len(client.volumes.list()) == before


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


def test_an_image_that_is_gone_meanwhile_is_looked_for_again(
    papers_own: DockerSandbox, client: Any, state_dir: Path
) -> None:
    in_own(papers_own, "pass")
    client.images.remove("lmr-board-test-own", force=True)
    with pytest.raises(SandboxError):
        in_own(papers_own, "pass")
    client.images.build(fileobj=io.BytesIO(PAPERS_OWN.encode()), tag="lmr-board-test-own", network_mode="none", rm=True)
    assert in_own(papers_own, "print('again')") == b"again\n"


def test_an_image_without_python_is_our_fault(client: Any, state_dir: Path) -> None:
    client.api.import_image_from_data(_empty_archive(), repository="lmr-board-test-empty")
    environments = EnvironmentList().with_numpy_image("lmr-board-test-empty")
    sandbox = DockerSandbox(state_dir, environments=environments)
    try:
        with pytest.raises(SandboxUnavailableError, match="Docker cannot make a box here"):
            sandbox.check()
    finally:
        sandbox.close()
        client.images.remove("lmr-board-test-empty", force=True)


def test_an_unknown_runtime_is_refused_with_those_that_are_known(docker: DockerSandbox, state_dir: Path) -> None:
    sandbox = DockerSandbox(state_dir, runtime="lmr-board-no-such-runtime")
    with pytest.raises(
        SandboxUnavailableError,
        match=r"does not know the runtime 'lmr-board-no-such-runtime' that SANDBOX_RUNTIME names; it has .*runc",
    ):
        sandbox.check()
    sandbox.close()


def test_a_named_runtime_is_used_and_part_of_the_digest(docker: DockerSandbox, state_dir: Path) -> None:
    sandbox = DockerSandbox(state_dir, runtime="runc")
    sandbox.check()
    assert run(sandbox, "print('by runc')").stdout == b"by runc\n"
    assert sandbox.environment_digest("numpy") != docker.environment_digest("numpy")
    sandbox.close()


def _empty_archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    return buffer.getvalue()
