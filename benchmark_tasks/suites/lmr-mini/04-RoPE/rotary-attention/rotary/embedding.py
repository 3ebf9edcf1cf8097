"""Rotary position embedding."""

import numpy as np

from rotary.frequencies import pair_frequencies


class RotaryEmbedding:
    """Turns pairs of channels by angles that grow with the token's position."""

    def __init__(self, config):
        self.config = config
        self.frequencies = pair_frequencies(config)

    def angles(self, positions):
        """Return the angle of every channel pair, shape (batch, tokens, rotary_size / 2)."""
        return positions[..., None].astype(np.float64) * self.frequencies

    def rotate_(self, queries, keys, positions):
        """Rotate queries and keys by their positions, in place.

        Args:
            queries: array (batch, heads, tokens, head_size), float32 or float64; changed in place.
            keys: array (batch, key_heads, tokens, head_size), same dtype; changed in place.
            positions: integer array (batch, tokens); any integers, in any order.

        Returns:
            None. The channels from `config.rotary_size` on keep their values.
        """
        # TODO: implement
        raise NotImplementedError

    def extra_repr(self):
        """Describe the layer in one line."""
        return f"rotary {self.config.rotary_size} of {self.config.head_size}, base {self.config.base:g}"
