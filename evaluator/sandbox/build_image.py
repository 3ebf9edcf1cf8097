"""Makes the Docker image that boxes start from: ``python -m evaluator.sandbox.build_image [--base-image IMAGE]``."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from evaluator.sandbox.factory import DEFAULT_IMAGE
from evaluator.sandbox.packages import install, lock_file, run_step
from evaluator.sandbox.types import SandboxError

DOCKERFILE: Final = Path(__file__).with_name("images") / "Dockerfile"
DEFAULT_BASE: Final = "python:3.11-slim-bookworm"


def build(*, base_image: str = DEFAULT_BASE, tag: str = DEFAULT_IMAGE, environment: str = "numpy") -> str:
    """Build the image of ``environment`` and return its ID.

    Args:
        base_image: any image with a ``python3`` of the version that the site runs on; pin it by digest in production.
        tag: the name to give the image.
        environment: ``numpy`` for ``requirements/box-numpy.txt``.

    Raises:
        SandboxError: a step failed; with the end of its output.
    """
    lock = lock_file(environment)
    with tempfile.TemporaryDirectory(prefix="lmr-board-image-") as folder:
        context = Path(folder)
        install(lock, target=context / "packages", python=Path(sys.executable))
        shutil.copy(DOCKERFILE, context / "Dockerfile")
        command = ["docker", "build", "--quiet", "--network", "none", "--tag", tag]
        command += ["--build-arg", f"BASE_IMAGE={base_image}", str(context)]
        return run_step(command, f"building {tag} from {base_image}").strip()


def main(arguments: list[str] | None = None) -> int:
    """The command. Prints the image's ID; returns 1 after a message when it cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m evaluator.sandbox.build_image", description=__doc__)
    parser.add_argument("--base-image", default=DEFAULT_BASE, help="an image with Python (default: %(default)s)")
    parser.add_argument("--tag", default=DEFAULT_IMAGE, help="the new image's name (default: %(default)s)")
    parser.add_argument("--environment", default="numpy", help="which requirements/box-*.txt (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        image = build(base_image=options.base_image, tag=options.tag, environment=options.environment)
    except SandboxError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{image}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
