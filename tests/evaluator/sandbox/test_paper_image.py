"""Images of papers: what gets into a build, how its log and its end are kept, and images unpacked for bubblewrap."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.sandbox import paper_image
from evaluator.sandbox.docker_engine import DockerSandbox
from evaluator.sandbox.paper_image import (
    BuildFailedError,
    PaperSource,
    build_paper_image,
    image_id,
    image_path,
    image_source,
    unpack_image,
    write_context,
)
from evaluator.sandbox.root_file_system import find_python, resolve
from evaluator.sandbox.trees import link_tree, listing_digest
from evaluator.sandbox.types import SandboxError

pytestmark = pytest.mark.xdist_group("images")

TAG = "lmr-board-test-paper"
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
        "big [1].json": b"x" * (paper_image.LARGEST_FILE_BYTES + 1),
        "small.json": b"{}",
    }
    for name, content in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_bytes(content)
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    return PaperSource(tmp_path / "Dockerfile", repository, "the-repository")


@pytest.fixture
def image(docker: DockerSandbox) -> Iterator[str]:
    """The name of an image that the test makes from a base that is here."""
    docker.check()
    yield TAG
    subprocess.run(["docker", "image", "rm", TAG], capture_output=True, check=False)


def build(source: PaperSource, scratch: Path, *, seconds: float = 120, again: bool = False) -> str:
    return build_paper_image(
        source,
        tag=TAG,
        base_image="lmr-board-test-base",
        network="none",
        seconds=seconds,
        scratch=scratch,
        label="a-source",
        again=again,
    )


def test_a_context_holds_the_repository_the_dockerfile_and_the_ignore_file_alone(
    source: PaperSource, tmp_path: Path
) -> None:
    context = tmp_path / "context"
    context.mkdir()
    write_context(source, context)
    assert sorted(path.name for path in context.iterdir()) == [".dockerignore", "Dockerfile", "the-repository"]
    assert (context / ".dockerignore").read_text().splitlines()[-1] == r"the-repository/big \[1\].json"


@pytest.mark.docker
def test_an_image_holds_the_sources_but_no_test_and_no_data(source: PaperSource, image: str, tmp_path: Path) -> None:
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
    assert image_path(image).split(":")[-1] == "/bin"


@pytest.mark.docker
def test_a_failed_build_keeps_the_end_of_its_log(source: PaperSource, image: str, tmp_path: Path) -> None:
    source.dockerfile.write_text(f"{DOCKERFILE}RUN seq 1 40000 && echo 'no such package' >&2 && exit 7\n")
    with pytest.raises(BuildFailedError, match=f"building {TAG} failed with exit code 7|exit code 1") as failed:
        build(source, tmp_path)
    assert "no such package" in failed.value.log
    assert len(failed.value.log) == paper_image.LOG_CHARACTERS
    assert image_id(image) is None


@pytest.mark.docker
def test_a_build_that_takes_too_long_is_ended(source: PaperSource, image: str, tmp_path: Path) -> None:
    source.dockerfile.write_text(f"{DOCKERFILE}RUN sleep 300\n")
    with pytest.raises(BuildFailedError, match=r"took longer than 5 seconds \(BUILD_SECONDS\)") as failed:
        build(source, tmp_path, seconds=5)
    assert "FROM" in failed.value.log
    assert not list(tmp_path.glob("paper-*"))


@pytest.mark.docker
def test_an_unpacked_image_is_a_plain_folder_with_a_python(docker: DockerSandbox, tmp_path: Path) -> None:
    target = tmp_path / "root"
    unpack_image("lmr-board-test-base", target)
    assert find_python(target) == "/usr/bin/python3"
    assert resolve(target, "/bin/sh") == target / "usr/bin/dash"
    assert not (target / "etc/shadow").exists()
    assert not [path for path in (target / "usr/bin").iterdir() if path.lstat().st_mode & 0o6000]


def test_what_an_archive_may_not_do_is_left_out(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as writer:
        for name, kind, link in (
            ("usr", tarfile.DIRTYPE, ""),
            ("usr/program", tarfile.REGTYPE, ""),
            ("usr/hard", tarfile.LNKTYPE, "usr/program"),
            ("usr/other", tarfile.LNKTYPE, "../../etc/passwd"),
            ("../outside", tarfile.REGTYPE, ""),
            ("out", tarfile.SYMTYPE, str(tmp_path)),
            ("out/through", tarfile.REGTYPE, ""),
            ("device", tarfile.CHRTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode = kind, link, 0o6755
            writer.addfile(member)
    archive.seek(0)
    root = tmp_path / "root"
    paper_image._unpack(archive, root)
    found = sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))
    assert found == ["out", "usr", "usr/hard", "usr/program"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root"]
    assert (root / "usr/program").stat().st_mode & 0o7777 == 0o755


def test_an_image_that_is_not_there_has_no_id(docker: DockerSandbox) -> None:
    assert image_id("lmr-board-no-such-image") is None
    assert image_source("lmr-board-no-such-image") == ""


@pytest.mark.usefixtures("usual_umask")
def test_links_of_a_root_are_followed_inside_it(tmp_path: Path) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3.11").touch(mode=0o755)
    (tmp_path / "usr/bin/python3").symlink_to("/usr/bin/python3.11")
    (tmp_path / "bin").symlink_to("usr/bin")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "up").symlink_to("../../../../../usr/bin/python3")
    assert find_python(tmp_path, "relative:/nowhere:/bin") == "/bin/python3"
    assert resolve(tmp_path, "/up") == tmp_path / "usr/bin/python3.11"
    assert resolve(tmp_path, "/circle") is None
    (tmp_path / "usr/bin/python3.11").chmod(0o700)
    with pytest.raises(SandboxError, match="holds no python3 that everybody may run in /bin"):
        find_python(tmp_path, "/bin")


@pytest.mark.usefixtures("usual_umask")
def test_a_tree_is_linked_where_it_can_be(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "folder").mkdir(parents=True, mode=0o700)
    (source / "folder" / "open").touch(mode=0o644)
    (source / "folder" / "private").touch()
    (source / "folder" / "private").chmod(0o600)
    (source / "link").symlink_to("/etc/passwd")
    (source / "su").touch()
    (source / "su").chmod(0o4755)
    first = listing_digest(source)
    for private, names in ((True, ["open", "private"]), (False, ["open"])):
        target = tmp_path / f"target-{private}"
        link_tree(source, target, bytecode=False, private=private)
        assert sorted(path.name for path in (target / "folder").iterdir()) == names
        assert (target / "folder" / "open").stat().st_ino == (source / "folder" / "open").stat().st_ino
        assert (target / "su").stat().st_mode & 0o7777 == 0o555
        assert (target / "link").readlink() == Path("/etc/passwd")
        assert (target / "folder").stat().st_mode & 0o777 == 0o755
        shutil.rmtree(target)
    assert listing_digest(source) == first
    (source / "folder" / "open").write_text("changed")
    assert listing_digest(source) != first
