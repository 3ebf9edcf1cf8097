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
    # TODO: implement
    raise NotImplementedError
