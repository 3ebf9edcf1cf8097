"""Scores that a trained field adds to the emissions."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FieldParameters:
    """`transitions[i, j]` for tag j right after tag i; `start[i]`, `end[i]` for the first and last tag. All finite."""

    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray
