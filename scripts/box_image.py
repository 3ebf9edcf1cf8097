"""Build the Docker image of an environment for ``make test``, unless one from the same sources exists.

``box_image.py BASE_IMAGE ENVIRONMENT``
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evaluator.sandbox.environment_list import SHIPPED
from evaluator.sandbox.images import build_image, find_image, image_source_digest
from evaluator.sandbox.interface import SandboxError


def main() -> int:
    """Build the image; return 1 after an error message if it cannot be built."""
    base_image, name = sys.argv[1:]
    entry, tag = SHIPPED.entry(name), SHIPPED.image(name)
    try:
        if find_image(tag)[1] != image_source_digest(entry, base_image):
            build_image(entry, base_image=base_image, tag=tag)
    except SandboxError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
