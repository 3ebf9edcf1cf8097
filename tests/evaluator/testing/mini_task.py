"""A sealed task small enough to read: rank names by score. One goal file, one helper module, three cases a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from evaluator.testing.types import Check, Rule, SealedTask

STUB = '''
import numpy as np

from ranking.helpers import shift


def rank(scores, names):
    """Return softmax weights and the names, best first."""
    # TODO: implement
    raise NotImplementedError
'''

GOLDEN_BODY = """
    weights = np.exp(shift(scores))
    weights /= weights.sum()
    return weights, [names[place] for place in np.argsort(-scores, kind="stable")]
"""

GOLDEN = f"""
import numpy as np

from ranking.helpers import shift


def rank(scores, names):{GOLDEN_BODY}
"""

HELPERS = """
def shift(scores):
    return scores - scores.max()
"""

CASES = """
import numpy as np


def cases(seed):
    rng = np.random.default_rng(seed)
    made = [{"scores": rng.normal(size=size), "names": [f"n{i}" for i in range(size)]} for size in (4, 7)]
    return [*made, {"scores": np.array([float(seed)]), "names": ["only"]}]
"""

RUN = """
from ranking.goal import rank


def run(case):
    weights, order = rank(case["scores"], case["names"])
    return {"weights": weights, "order": order, "scores_afterwards": case["scores"]}
"""

CHECK = Check(
    public_seeds=(1, 2),
    private_seed_count=2,
    default_rule=Rule(rtol=1e-6, atol=1e-8),
    output_rules=(("order", Rule(exact=True)),),
    wall_seconds=20.0,
)


def write_tree(root: Path, goal: str) -> Path:
    """Write the repository with ``goal`` as its goal file below ``root`` and return ``root``."""
    package = root / "ranking"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "helpers.py").write_text(HELPERS)
    (package / "goal.py").write_text(goal)
    return root


def write_task(
    root: Path, *, golden: str = GOLDEN, cases: str = CASES, run: str = RUN, check: Check = CHECK
) -> SealedTask:
    """Write the whole task below ``root``."""
    grading = root / "grading"
    write_tree(grading / "reference", golden)
    (grading / "cases.py").write_text(cases)
    (grading / "run.py").write_text(run)
    return SealedTask(
        name="mini/1",
        repository=write_tree(root / "masked", STUB),
        grading=grading,
        check=check,
        environment="numpy",
        grading_hash="grading-hash",
    )


@dataclass
class MemoryStore:
    """A golden store in memory."""

    entries: dict[str, bytes] = field(default_factory=dict)

    def get(self, key: str) -> bytes | None:
        return self.entries.get(key)

    def put(self, key: str, value: bytes) -> None:
        self.entries[key] = value
