"""Images of papers' own Dockerfiles, and images unpacked for bubblewrap.

A Dockerfile may run anything, as root in a container of the build, with the network that the operator chose: build only
what you trust. What it is given is the masked repository and nothing else, so that no golden file, no unit test and no
other paper can get into an image.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from evaluator.sandbox.build_image import SOURCE_LABEL
from evaluator.sandbox.packages import run_step
from evaluator.sandbox.trees import entries, link_tree
from evaluator.sandbox.types import SandboxError

LOG_CHARACTERS: Final = 64 * 1024
LARGEST_FILE_BYTES: Final = 10 * 1024 * 1024
"""Larger files of a repository are data: boxes get them from the repository itself, not from the image."""

IGNORED: Final = (
    "**/.git", "**/.DS_Store", "**/__pycache__", "**/*.pyc", "**/.ipynb_checkpoints", "**/.cache", "**/unit_test",
    "**/*.zip", "**/*.tar", "**/*.tar.*", "**/*.tgz", "**/*.7z", "**/*.rar",
    "**/*.pt", "**/*.pth", "**/*.ckpt", "**/*.safetensors", "**/*.bin", "**/*.pkl", "**/*.npy", "**/*.npz", "**/*.h5",
    "**/*.parquet", "**/*.arrow", "**/*.mp4", "**/*.gif", "**/*.pdf",
)  # fmt: skip
"""What the ignore file of every build names; docs/operating.md says so too."""

_USER_ID: Final = "10001"
_ARGUMENT: Final = re.compile(r"^\s*ARG\s+(\w+)", re.MULTILINE | re.IGNORECASE)
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\n\t\x20-\x7e\xa0-\U0010ffff]")


class BuildFailedError(SandboxError):
    """An image could not be built. ``log`` is the end of the build's output."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True, slots=True)
class PaperSource:
    """A paper's Dockerfile, its masked repository, and the name that the repository's folder has beside it."""

    dockerfile: Path
    repository: Path
    folder: str


def build_paper_image(
    source: PaperSource,
    *,
    tag: str,
    base_image: str,
    network: str,
    seconds: float,
    scratch: Path,
    label: str,
    again: bool = False,
) -> str:
    """Build the image and return the build's log (its end).

    Args:
        source: what to build from.
        tag: the image's name.
        base_image: given to a Dockerfile that declares ``ARG BASE_IMAGE``.
        network: Docker network of the build, such as ``default``, ``host`` or ``none``.
        seconds: the build is ended after that time.
        scratch: where the build's folder is made.
        label: what the image's :data:`SOURCE_LABEL` says.
        again: build every step anew.

    Raises:
        BuildFailedError: with the log.
        SandboxError: Docker's program is missing.
    """
    with tempfile.TemporaryDirectory(prefix="paper-", dir=scratch) as folder:
        context = Path(folder)
        write_context(source, context)
        declared = set(_ARGUMENT.findall(source.dockerfile.read_text(encoding="utf-8-sig", errors="replace")))
        values = {"UID": _USER_ID, "GID": _USER_ID, "DIR": source.folder, "BASE_IMAGE": base_image}
        command = ["docker", "build", "--network", network, "--tag", tag, "--force-rm"]
        command += ["--label", f"{SOURCE_LABEL}={label}"]
        command += ["--no-cache"] if again else []
        for name in sorted(declared & set(values)):
            command += ["--build-arg", f"{name}={values[name]}"]
        return _logged([*command, str(context)], f"building {tag}", seconds)


def write_context(source: PaperSource, context: Path) -> None:
    """Fill the folder ``context`` with Dockerfile, ignore file and masked repository."""
    repository = context / source.folder
    link_tree(source.repository, repository, bytecode=False, private=True)
    large = [
        path.relative_to(context).as_posix()
        for path, status in entries(repository)
        if stat.S_ISREG(status.st_mode) and status.st_size > LARGEST_FILE_BYTES
    ]
    ignored = "\n".join([*IGNORED, *(re.sub(r"([\\*?\[\]])", r"\\\1", name) for name in large)])
    (context / ".dockerignore").write_text(f"{ignored}\n", encoding="utf-8")
    shutil.copyfile(source.dockerfile, context / "Dockerfile")


def image_id(image: str) -> str | None:
    """The ID of an image that the engine has, else ``None``. Raises :class:`SandboxError` when no engine answers."""
    try:
        return run_step(["docker", "image", "inspect", "--format", "{{.Id}}", image], f"looking for {image}").strip()
    except SandboxError as error:
        if "No such image" in str(error):
            return None
        raise


def image_source(image: str) -> str:
    """The source label of an image that the engine has, empty when it has none."""
    form = f'{{{{index .Config.Labels "{SOURCE_LABEL}"}}}}'
    command = ["docker", "image", "inspect", "--format", form, image]
    return run_step(command, f"reading {image}", allowed=(0, 1)).strip()


def image_path(image: str) -> str:
    """``PATH`` of the programs of ``image``, empty when it sets none."""
    output = run_step(["docker", "image", "inspect", "--format", "{{json .Config.Env}}", image], f"reading {image}")
    variables: dict[str, str] = dict(entry.partition("=")[::2] for entry in json.loads(output) or [])
    return variables.get("PATH", "")


def unpack_image(image: str, target: Path) -> None:
    """Unpack the file system of ``image`` into the new folder ``target``, for a box that cannot use Docker.

    Everything belongs to whoever calls. Devices are left out, and so is what not everybody may read; no file keeps a
    set-user bit, which would be root's on the host.

    Raises:
        SandboxError: the engine or the disk failed.
    """
    container = run_step(["docker", "create", "--network", "none", image, "true"], f"unpacking {image}").strip()
    try:
        with subprocess.Popen(["docker", "export", container], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            _unpack(process.stdout, target)
        if process.returncode != 0:
            raise SandboxError(f"unpacking {image} failed: docker export ended with {process.returncode}")
    except (OSError, tarfile.TarError) as error:
        raise SandboxError(f"unpacking {image} failed: {error}") from error
    finally:
        run_step(["docker", "rm", container], f"unpacking {image}")


def _unpack(stream: IO[bytes], target: Path) -> None:
    target.mkdir()
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            parts = [part for part in PurePosixPath(member.name).parts if part not in {"/", "."}]
            place = target.joinpath(*parts)
            if not parts or ".." in parts or place.parent.resolve() != target.resolve().joinpath(*parts[:-1]):
                continue
            _write(archive, member, place, target)


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path, target: Path) -> None:
    if member.isdir():
        place.mkdir(exist_ok=True, parents=True)
    elif member.issym():
        place.symlink_to(member.linkname)
    elif member.islnk():
        first = target / member.linkname
        if ".." not in first.parts and first.is_file() and not first.is_symlink():
            os.link(first, place)
    elif member.isreg() and member.mode & 0o004:
        content = archive.extractfile(member)
        assert content is not None  # noqa: S101 - a regular file has content
        with place.open("wb") as file:
            shutil.copyfileobj(content, file)
        place.chmod(member.mode & 0o755)


def _logged(command: list[str], what: str, seconds: float) -> str:
    """Run ``command`` with a time limit and return the end of its output, made safe to show."""
    with tempfile.TemporaryFile() as output:
        try:
            with _ended_at_last(command, output) as process:
                code: int | None = process.wait(timeout=seconds)
        except OSError as error:
            raise SandboxError(f"{what} failed: {error}") from error
        except subprocess.TimeoutExpired:
            code = None
        output.seek(max(0, output.seek(0, os.SEEK_END) - 4 * LOG_CHARACTERS))
        log = _CONTROL.sub("", output.read().decode(errors="replace").replace("\r\n", "\n"))[-LOG_CHARACTERS:]
    if code is None:
        raise BuildFailedError(f"{what} took longer than {seconds:g} seconds (BUILD_SECONDS)", log)
    if code != 0:
        raise BuildFailedError(f"{what} failed with exit code {code}", log)
    return log


@contextmanager
def _ended_at_last(command: list[str], output: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The running command, in a session of its own; nothing of it is left afterwards."""
    environment = os.environ | {"BUILDKIT_PROGRESS": "plain"}
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
