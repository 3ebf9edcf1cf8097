"""Augmenting a labelled corpus."""

from augmenting.operations import augment


def augment_corpus(examples, lexicon, draws, *, alpha):
    """Return the (words, label) examples followed by four variants of each, in order."""
    grown = list(examples)
    for words, label in examples:
        variants = augment(words, lexicon, draws, alpha=alpha)
        grown += [(variants[name], label) for name in ("replaced", "inserted", "swapped", "deleted")]
    return grown
