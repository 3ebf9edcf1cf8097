"""Choosing one answer from many chains."""

import math
from dataclasses import dataclass, field

from consistency.extraction import final_answer, normalise
from consistency.registry import aggregation_rule


@dataclass(frozen=True)
class Consensus:
    """The chosen `answer`, its share of the votes, all votes by answer, and which chains support the answer."""

    answer: str = ""
    share: float = 0.0
    votes: dict = field(default_factory=dict)
    supporters: tuple = ()


@aggregation_rule("self_consistency")
def vote(chains, weighting):
    """Let the chains vote on the final answer.

    Args:
        chains: tuple of `Chain`, possibly empty.
        weighting: "uniform", "probability" or "normalised", see the method note.

    Returns:
        `Consensus`. `votes` maps every normalised answer to its total weight, `supporters` holds the indices of the chains that
        gave the chosen answer, ascending. Without any valid chain: the default `Consensus()`.
    """
    # TODO: implement
    raise NotImplementedError
