"""Numbers that are printed in the paper and in no published file: Tables 5 and 6, Figure 7."""

from __future__ import annotations

from typing import Final, NamedTuple

SUITE: Final = "lmr-bench"
"""The paper's suite; only its page shows these numbers."""


class PrintedTerm(NamedTuple):
    """A row of Table 5, with our name of the term."""

    name: str
    coefficient: float
    error: float
    z: float
    p: float
    low: float
    high: float


TABLE_5: Final = (
    PrintedTerm("constant", -0.4313, 0.330, -1.306, 0.192, -1.079, 0.216),
    PrintedTerm("average directory depth", 0.8049, 0.249, 3.232, 0.001, 0.317, 1.293),
    PrintedTerm("average branch factor", -0.6750, 0.225, -2.995, 0.003, -1.117, -0.233),
    PrintedTerm("directory imbalance", 0.2426, 0.226, 1.071, 0.284, -0.201, 0.686),
    PrintedTerm("goal function length", -0.3478, 0.225, -1.547, 0.122, -0.788, 0.093),
    PrintedTerm("model: GPT-4o", -0.4458, 0.475, -0.939, 0.348, -1.376, 0.484),
    PrintedTerm("model: o4-mini", 0.2807, 0.476, 0.590, 0.555, -0.653, 1.214),
)

TABLE_6: Final = {
    "no-agent-gpt-4o": 14.29,
    "no-agent-gpt-4.1": 21.43,
    "no-agent-o4-mini": 25.00,
    "openhands-gpt-4o": 7.14,
    "openhands-gpt-4.1": 28.57,
    "openhands-o4-mini": 39.29,
}
"""Percent completely correct, by the slug of the reported run."""

FIGURE_7: Final = {"comprehension": 43.1, "robustness": 27.6, "retrieval": 13.8}
"""Percent of errors by class; section 5.3 gives three of the five."""
