"""Calls `RotaryEmbedding.rotate_` and looks at what became of its arguments."""

from rotary.attention import causal_scores
from rotary.config import AttentionConfig
from rotary.embedding import RotaryEmbedding


def run(case):
    """Return the arrays that were to change in place, and attention scores made from them."""
    config = AttentionConfig(case["head_size"], case["rotary_size"], case["base"], case["scale"])
    queries, keys, positions = case["queries"], case["keys"], case["positions"]
    RotaryEmbedding(config).rotate_(queries, keys, positions)
    return {
        "queries": queries,
        "keys": keys,
        "positions": positions,
        "dtype": str(queries.dtype),
        "scores": causal_scores(queries, keys, positions),
    }
