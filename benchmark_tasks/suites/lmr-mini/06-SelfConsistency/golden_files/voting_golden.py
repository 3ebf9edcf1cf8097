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

    def weight(chain):
        if weighting == "uniform":
            return 1.0
        total = math.fsum(chain.token_log_probs)
        return math.exp(total if weighting == "probability" else total / len(chain.token_log_probs))

    votes = {}
    supporters = {}
    for index, chain in enumerate(chains):
        raw = final_answer(chain.text)
        answer = normalise(raw) if raw is not None else ""
        if not answer or not chain.token_log_probs:
            continue
        votes[answer] = votes.get(answer, 0.0) + weight(chain)
        supporters.setdefault(answer, []).append(index)
    if not votes:
        return Consensus()
    chosen = max(votes, key=votes.get)
    return Consensus(chosen, votes[chosen] / math.fsum(votes.values()), votes, tuple(supporters[chosen]))
