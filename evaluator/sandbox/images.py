"""Build Docker images of environments: from a requirements file, or from a paper's own Dockerfile.

A Dockerfile may run anything, as root in a build container, with the network that the operator chose: build only
trusted ones. It gets the masked repository and nothing else, so that no golden file, unit test or other paper can get
into an image.

``python -m evaluator.sandbox.images [--base-image IMAGE]`` makes the image of the shipped tasks.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.sandbox.environment_list import IMAGE_PREFIX, SHIPPED, EnvironmentEntry
from evaluator.sandbox.environments import install, run_step, source_digest
from evaluator.sandbox.interface import SandboxError
from evaluator.sandbox.trees import entries, link_tree

RECIPE: Final = Path(__file__).with_name("box.Dockerfile")
DEFAULT_BASE: Final = "python:3.11-slim-bookworm"
LOG_CHARACTERS: Final = 64 * 1024

SOURCE_LABEL: Final = "lmr-board-source"
"""Image label with the digest of what the image was made from, so that unchanged images are not made again."""

LARGEST_FILE_BYTES: Final = 10 * 1024 * 1024
"""Larger files of a repository are data: boxes get them from the repository itself, not from the image."""

IGNORED: Final = (
    "**/.git", "**/.DS_Store", "**/__pycache__", "**/*.pyc", "**/.ipynb_checkpoints", "**/.cache", "**/unit_test",
    "**/*.zip", "**/*.tar", "**/*.tar.*", "**/*.tgz", "**/*.7z", "**/*.rar",
    "**/*.pt", "**/*.pth", "**/*.ckpt", "**/*.safetensors", "**/*.bin", "**/*.pkl", "**/*.npy", "**/*.npz", "**/*.h5",
    "**/*.parquet", "**/*.arrow", "**/*.mp4", "**/*.gif", "**/*.pdf",
)  # fmt: skip
"""Ignored in every paper's build; docs/operating.md documents it."""

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
    """A paper's Dockerfile, its masked repository, and the name of the repository's folder in the build."""

    dockerfile: Path
    repository: Path
    folder: str


def build_image(entry: EnvironmentEntry, *, base_image: str, tag: str = "", scratch: Path | None = None) -> str:
    """Build the image of ``entry`` from its requirements and return the image's ID.

    Args:
        entry: has requirements.
        base_image: any image whose ``python3`` has the site's version; pin it by digest in production.
        tag: the image's name; by default that of the environment.
        scratch: where the build's folder is made.

    Raises:
        SandboxError: a step failed; the message has the end of its output.
    """
    assert entry.requirements is not None  # noqa: S101 - callers have checked
    tag = tag or f"{IMAGE_PREFIX}{entry.name}"
    with tempfile.TemporaryDirectory(prefix="lmr-board-image-", dir=scratch) as folder:
        install(entry.requirements, target=Path(folder) / "packages", python=Path(sys.executable))
        shutil.copyfile(RECIPE, Path(folder) / "Dockerfile")
        command = ["docker", "build", "--quiet", "--network", "none", "--tag", tag]
        command += ["--label", f"{SOURCE_LABEL}={image_source_digest(entry, base_image)}"]
        command += ["--build-arg", f"BASE_IMAGE={base_image}", folder]
        return run_step(command, f"building {tag} from {base_image}").strip()


def image_source_digest(entry: EnvironmentEntry, base_image: str) -> str:
    """Return SHA-256 of everything that :func:`build_image` uses. Raises :class:`SandboxError`."""
    recipe = hashlib.sha256(RECIPE.read_bytes()).hexdigest()
    return hashlib.sha256("\n".join((source_digest(entry), base_image, recipe)).encode()).hexdigest()


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
        seconds: time limit of the build.
        scratch: where the build's folder is made.
        label: value of the image's :data:`SOURCE_LABEL`.
        again: build without the cache.

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
    link_tree(source.repository, repository, bytecode=False)
    large = [
        path.relative_to(context).as_posix()
        for path, status in entries(repository)
        if stat.S_ISREG(status.st_mode) and status.st_size > LARGEST_FILE_BYTES
    ]
    ignored = "\n".join([*IGNORED, *(re.sub(r"([\\*?\[\]])", r"\\\1", name) for name in large)])
    (context / ".dockerignore").write_text(f"{ignored}\n", encoding="utf-8")
    shutil.copyfile(source.dockerfile, context / "Dockerfile")


def find_image(image: str) -> tuple[str, str]:
    """Return ID and source label of an image in the engine, else two empty strings. Raises :class:`SandboxError`."""
    # An image may have no labels at all, or no configuration.
    form = f'{{{{.Id}}}} {{{{with .Config}}}}{{{{with .Labels}}}}{{{{index . "{SOURCE_LABEL}"}}}}{{{{end}}}}{{{{end}}}}'
    try:
        found = run_step(["docker", "image", "inspect", "--format", form, image], f"looking for {image}")
    except SandboxError as error:
        if "No such image" in str(error):
            return "", ""
        raise
    number, _, source = found.strip().partition(" ")
    return number, source


def _logged(command: list[str], what: str, seconds: float) -> str:
    """Run ``command`` with a time limit and return the end of its output, made safe to show."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"BUILDKIT_PROGRESS": "plain"},
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(f"{what} failed: {error}") from error
        with process:
            try:
                code: int | None = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:  # no process is left, however the wait ends
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
        output.seek(max(0, output.seek(0, os.SEEK_END) - 4 * LOG_CHARACTERS))
        log = _CONTROL.sub("", output.read().decode(errors="replace").replace("\r\n", "\n"))[-LOG_CHARACTERS:]
    if code is None:
        raise BuildFailedError(f"{what} took longer than {seconds:g} seconds (BUILD_SECONDS)", log)
    if code != 0:
        raise BuildFailedError(f"{what} failed with exit code {code}", log)
    return log


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Prints the image's ID; prints a message and returns 1 when the build fails."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluator.sandbox.images", description="Make the Docker image of an environment."
    )
    parser.add_argument("--base-image", default=DEFAULT_BASE, help="an image with Python (default: %(default)s)")
    parser.add_argument("--tag", default="", help="the new image's name (default: lmr-board-box- and the environment)")
    parser.add_argument("--environment", default="numpy", help="which requirements/box-*.txt (default: %(default)s)")
    parser.add_argument("--requirements", type=Path, help="another hash-locked file instead of such a list")
    options = parser.parse_args(arguments)
    try:
        if options.requirements:
            entry = EnvironmentEntry(options.environment, requirements=options.requirements.resolve())
        else:
            entry = SHIPPED.entry(options.environment)
        image = build_image(entry, base_image=options.base_image, tag=options.tag)
    except SandboxError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{image}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
