"""The task that hostile answers are sent to: rank names by score. Small, needs NumPy alone, and runs in milliseconds.

It lies here as text and is written where it is needed. The same golden function is tested twice: by a sealed probe, and
by a unit test in upstream's manner.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from benchmark_tasks.domain.goals import Goal
from evaluator.testing.types import Check, Rule, SealedTask

GOAL: Final = Goal(task="weighing/1", file="weighing/goal.py", function="rank")
PUBLIC_SEEDS: Final = (1, 2)
PRIVATE_SEEDS: Final = (11, 12)
NAME: Final = "weighing/1"

SIGNATURE: Final = "def rank(scores, names):\n"
STUB: Final = f'''import numpy as np

from weighing.helpers import shift


{SIGNATURE}    """Return the softmax of the scores, and the names from best to worst."""
    # Write this function.
    raise NotImplementedError
'''
GOLDEN_BODY: Final = """    weights = np.exp(shift(scores))
    weights /= weights.sum()
    return weights, [names[place] for place in np.argsort(-scores, kind="stable")]
"""
GOLDEN: Final = f"import numpy as np\n\nfrom weighing.helpers import shift\n\n\n{SIGNATURE}{GOLDEN_BODY}"

_HELPERS = "def shift(scores):\n    return scores - scores.max()\n"
_CASES = """import numpy as np


def cases(seed):
    rng = np.random.default_rng(seed)
    made = [{"scores": rng.normal(size=size), "names": [f"n{i}" for i in range(size)]} for size in (4, 7)]
    return [*made, {"scores": np.array([float(seed)]), "names": ["only"]}]
"""
_RUN = """from weighing.goal import rank


def run(case):
    weights, order = rank(case["scores"], case["names"])
    return {"weights": weights, "order": order, "scores_afterwards": case["scores"]}
"""
UNIT_TEST: Final = """import logging
import os
import unittest

import numpy as np

from weighing.goal import rank

here = os.path.dirname(os.path.abspath(__file__))
os.makedirs(os.path.join(here, "logs"), exist_ok=True)
logging.basicConfig(
    filename=os.path.join(here, "logs", "unit_test_1.log"), filemode="w", level=logging.INFO, format="%(message)s"
)


class TestRank(unittest.TestCase):
    def test_four_names(self):
        weights, order = rank(np.array([0.5, -1.0, 2.0, 0.0]), ["a", "b", "c", "d"])
        expected = np.array([0.15844, 0.03535, 0.71010, 0.09610])
        if np.allclose(weights, expected, atol=1e-4) and order == ["c", "a", "d", "b"]:
            logging.info("Test Passed: four names")
        else:
            logging.info("Test Failed: four names")
        self.assertTrue(np.allclose(weights, expected, atol=1e-4))
        self.assertEqual(order, ["c", "a", "d", "b"])


if __name__ == "__main__":
    unittest.main()
"""

CHECK: Final = Check(
    public_seeds=PUBLIC_SEEDS,
    private_seed_count=len(PRIVATE_SEEDS),
    default_rule=Rule(rtol=1e-6, atol=1e-8),
    output_rules=(("order", Rule(exact=True)),),
    wall_seconds=20.0,
    memory_bytes=256 * 1024 * 1024,
)


def write_tree(root: Path, goal: str) -> Path:
    """Write the repository with ``goal`` as the text of its goal file below ``root``, and return ``root``."""
    package = root / "weighing"
    package.mkdir(parents=True)
    root.chmod(0o755)
    (package / "__init__.py").write_text("")
    (package / "helpers.py").write_text(_HELPERS)
    # In bytes: an answer may hold characters that text mode would change.
    (package / "goal.py").write_bytes(goal.encode())
    (root / "README.md").write_text("Ranks names.\n")
    (root / "setup.cfg").write_text("[tool]\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_goal.py").write_text("assert True\n")
    return root


def write_task(root: Path) -> SealedTask:
    """Write the whole task below ``root``, as the sealed protocol needs it."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "cases.py").write_text(_CASES)
    (root / "run.py").write_text(_RUN)
    content = "\0".join((STUB, GOLDEN, _HELPERS, _CASES, _RUN))
    write_tree(root / "reference", GOLDEN)
    return SealedTask(
        name=NAME,
        repository=write_tree(root / "masked", STUB),
        grading=root,
        check=CHECK,
        environment="numpy",
        grading_hash=hashlib.sha256(content.encode()).hexdigest(),
    )
