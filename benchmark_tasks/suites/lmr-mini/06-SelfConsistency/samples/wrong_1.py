from collections import Counter


def vote(chains, weighting):
    """Counts raw spellings, and breaks ties by the spelling that sorts last."""
    votes = Counter()
    supporters = {}
    for index, chain in enumerate(chains):
        answer = final_answer(chain.text)
        if answer is None:
            continue
        total = sum(chain.token_log_probs)
        votes[answer] += 1.0 if weighting == "uniform" else math.exp(total / max(len(chain.token_log_probs), 1))
        supporters.setdefault(answer, []).append(index)
    if not votes:
        return Consensus()
    chosen = max(votes, key=lambda name: (votes[name], name))
    return Consensus(chosen, votes[chosen] / sum(votes.values()), dict(votes), tuple(supporters[chosen]))
