import math


def _ballot(chain, weighting):
    raw = final_answer(chain.text)
    if raw is None or not normalise(raw) or len(chain.token_log_probs) == 0:
        return None
    exponent = {"uniform": 0.0, "probability": 1.0, "normalised": 1.0 / len(chain.token_log_probs)}[weighting]
    return normalise(raw), math.prod(math.exp(value) for value in chain.token_log_probs) ** exponent


@aggregation_rule("self_consistency")
def vote(chains, weighting):
    """Collects ballots first and counts them afterwards."""
    ballots = {index: ballot for index, chain in enumerate(chains) if (ballot := _ballot(chain, weighting))}
    if not ballots:
        return Consensus()
    order = list(dict.fromkeys(answer for answer, _ in ballots.values()))
    votes = {name: sum(weight for answer, weight in ballots.values() if answer == name) for name in order}
    best = sorted(order, key=lambda name: (-votes[name], order.index(name)))[0]
    supporters = tuple(index for index, (answer, _) in ballots.items() if answer == best)
    return Consensus(best, votes[best] / sum(votes.values()), votes, supporters)
