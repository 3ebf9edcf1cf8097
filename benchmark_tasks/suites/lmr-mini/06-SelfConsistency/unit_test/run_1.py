"""Calls the registered rule, decorator included, on the chains of a case."""

import consistency.voting  # noqa: F401  (registers the rule)
from consistency.chains import Chain
from consistency.registry import RULES


def run(case):
    """Return the consensus; votes as two lists in the order in which the answers first came up."""
    chains = [Chain(chain["text"], tuple(chain["token_log_probs"])) for chain in case["chains"]]
    consensus = RULES["self_consistency"](chains, case["weighting"])
    return {
        "answer": consensus.answer,
        "share": consensus.share,
        "answers": list(consensus.votes),
        "weights": [float(weight) for weight in consensus.votes.values()],
        "supporters": [int(index) for index in consensus.supporters],
    }
