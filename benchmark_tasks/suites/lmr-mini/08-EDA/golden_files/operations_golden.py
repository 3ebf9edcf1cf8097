"""The four operations on one sentence, a list of words."""


def change_count(words, alpha):
    """Return how many changes a sentence of this length gets: a share `alpha` of its words, at least one."""
    return max(1, int(alpha * len(words)))


def augment(words, lexicon, draws, *, alpha):
    """Make four variants of a sentence, one by each operation.

    Args:
        words: list of words, possibly empty; not changed.
        lexicon: `Lexicon` with the synonyms.
        draws: `Draws`; the method note says which decision takes its numbers when.
        alpha: share of words to change, and probability of deleting a word, 0 < alpha < 1.

    Returns:
        dict with the keys "replaced", "inserted", "swapped" and "deleted", each a new list of words.
    """
    count = change_count(words, alpha)

    def replaced():
        swaps = {word: draws.choose(lexicon.synonyms(word)) for word in draws.shuffled(lexicon.replaceable(words))[:count]}
        return [swaps.get(word, word) for word in words]

    def inserted():
        result = list(words)
        for _ in range(count):
            sources = lexicon.replaceable(result)
            if not sources:
                break
            synonym = draws.choose(lexicon.synonyms(draws.choose(sources)))
            result.insert(draws.index(len(result) + 1), synonym)
        return result

    def swapped():
        result = list(words)
        if len(result) < 2:
            return result
        for _ in range(count):
            first, second = draws.index(len(result)), draws.index(len(result))
            result[first], result[second] = result[second], result[first]
        return result

    def deleted():
        if len(words) < 2:
            return list(words)
        kept = [word for word in words if draws.uniform() >= alpha]
        return kept or [draws.choose(words)]

    return {"replaced": replaced(), "inserted": inserted(), "swapped": swapped(), "deleted": deleted()}
