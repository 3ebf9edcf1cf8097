"""Make the environments of the bubblewrap boxes of ``make test`` in a folder that outlives the run.

``box_environments.py FOLDER``: quick when they are there. What was made for other locks is removed. An environment that
cannot be made is reported, and the tests that need it say why.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evaluator.sandbox.environments import prepare_environment
from evaluator.sandbox.types import SandboxError


def main() -> int:
    """1 where one could not be made."""
    code = 0
    for name in ("numpy", "torch"):
        try:
            made = prepare_environment(name, Path(sys.argv[1])).root.parent
        except SandboxError as error:
            sys.stderr.write(f"{name}: {error}\n")
            code = 1
        else:
            for other in made.parent.iterdir():
                if other.is_dir() and other != made:
                    shutil.rmtree(other)
    return code


if __name__ == "__main__":
    sys.exit(main())
