"""Integration rules on the interval [0, 1]."""

import numpy as np


def rule(name, steps):
    """Return nodes and weights, each of shape (steps,), of the rule "midpoint", "right" or "gauss"."""
    if name == "midpoint":
        return (np.arange(steps) + 0.5) / steps, np.full(steps, 1.0 / steps)
    if name == "right":
        return (np.arange(steps) + 1.0) / steps, np.full(steps, 1.0 / steps)
    if name == "gauss":
        nodes, weights = np.polynomial.legendre.leggauss(steps)
        return (nodes + 1.0) / 2.0, weights / 2.0
    raise ValueError(f"unknown rule {name!r}, choose midpoint, right or gauss")
