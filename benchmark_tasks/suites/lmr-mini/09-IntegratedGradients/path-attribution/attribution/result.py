"""The parts of an explanation."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Explanation:
    """`values` (tokens, size) per channel, `token_scores` (tokens,) scaled for display, `gap` of the completeness axiom."""

    values: np.ndarray
    token_scores: np.ndarray
    gap: float
