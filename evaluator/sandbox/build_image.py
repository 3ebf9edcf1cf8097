"""Makes the Docker images that boxes start from: ``python -m evaluator.sandbox.build_image [--base-image IMAGE]``."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evaluator.sandbox.environment_list import IMAGE_PREFIX, SHIPPED, EnvironmentEntry
from evaluator.sandbox.packages import install, run_step
from evaluator.sandbox.trees import link_tree, listing_digest
from evaluator.sandbox.types import SandboxError

DOCKERFILE: Final = Path(__file__).with_name("images") / "Dockerfile"
DEFAULT_BASE: Final = "python:3.11-slim-bookworm"

SOURCE_LABEL: Final = "lmr-board-source"
"""The label of an image that says what it was made from, so that unchanged things are not made again."""


def build(
    entry: EnvironmentEntry, *, base_image: str = DEFAULT_BASE, tag: str | None = None, scratch: Path | None = None
) -> str:
    """Build the image of ``entry`` from its packages and return the image's ID.

    Args:
        entry: has ``packages`` or ``requirements``.
        base_image: any image with a ``python3`` of the version that the site runs on; pin it by digest in production.
        tag: the name to give the image; by default that of the environment.
        scratch: where the build's folder is made; on the file system of ``packages`` these need not be copied.

    Raises:
        SandboxError: a step failed; with the end of its output.
    """
    tag = tag or f"{IMAGE_PREFIX}{entry.name}"
    with _context(entry, scratch) as context:
        shutil.copy(DOCKERFILE, context / "Dockerfile")
        command = ["docker", "build", "--quiet", "--network", "none", "--tag", tag]
        command += ["--label", f"{SOURCE_LABEL}={source_digest(entry, base_image)}"]
        command += ["--build-arg", f"BASE_IMAGE={base_image}", str(context)]
        return run_step(command, f"building {tag} from {base_image}").strip()


def source_digest(entry: EnvironmentEntry, base_image: str) -> str:
    """SHA-256 of all that :func:`build` makes an image from. Raises :class:`SandboxError` when it cannot be read."""
    try:
        if entry.packages:
            content = listing_digest(entry.packages)
        elif entry.requirements:
            content = hashlib.sha256(entry.requirements.read_bytes()).hexdigest()
        else:
            content = entry.image
    except OSError as error:
        raise SandboxError(f"environment {entry.name!r} cannot be read: {error}") from error
    recipe = hashlib.sha256(DOCKERFILE.read_bytes()).hexdigest()
    return hashlib.sha256("\n".join((content, base_image, recipe)).encode()).hexdigest()


@contextmanager
def _context(entry: EnvironmentEntry, scratch: Path | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lmr-board-image-", dir=scratch) as folder:
        context = Path(folder)
        if entry.packages:
            link_tree(entry.packages, context / "packages", bytecode=False, private=True)
        elif entry.requirements:
            install(entry.requirements, target=context / "packages", python=Path(sys.executable))
        else:
            raise SandboxError(f"environment {entry.name!r} has neither packages nor requirements to build an image of")
        yield context


def main(arguments: list[str] | None = None) -> int:
    """The command. Prints the image's ID; returns 1 after a message when it cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m evaluator.sandbox.build_image", description=__doc__)
    parser.add_argument("--base-image", default=DEFAULT_BASE, help="an image with Python (default: %(default)s)")
    parser.add_argument("--tag", help="the new image's name (default: lmr-board-box- and the environment)")
    parser.add_argument("--environment", default="numpy", help="which requirements/box-*.txt (default: %(default)s)")
    parser.add_argument("--packages", type=Path, help="a folder of installed packages, instead of such a list")
    options = parser.parse_args(arguments)
    try:
        if options.packages:
            entry = EnvironmentEntry(options.environment, packages=options.packages.resolve())
        else:
            entry = SHIPPED.entry(options.environment)
        image = build(entry, base_image=options.base_image, tag=options.tag)
    except SandboxError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{image}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
