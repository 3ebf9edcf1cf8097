"""Rotation frequencies of the channel pairs."""

import numpy as np


def pair_frequencies(config):
    """Return base ** (-2 i / rotary_size) / scale for i = 0 .. rotary_size / 2 - 1, float64."""
    exponents = np.arange(0, config.rotary_size, 2, dtype=np.float64) / max(config.rotary_size, 1)
    return config.base**-exponents / config.scale
