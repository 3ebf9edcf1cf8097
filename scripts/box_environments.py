"""Build the environments of the bubblewrap boxes for ``make test`` in a folder that outlives the run.

``box_environments.py FOLDER`` is quick if they exist. Environments built for other locks are removed. One that cannot
be built is reported; the tests that need it are skipped with the reason.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evaluator.sandbox.environments import prepare_environment
from evaluator.sandbox.interface import SandboxError


def main() -> int:
    """Build the environments; return 1 if one could not be built."""
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
