"""Calls `augment` on every sentence of a case, all from one tape."""

from augmenting.draws import Draws
from augmenting.lexicon import Lexicon
from augmenting.operations import augment


def run(case):
    """Return the variants of all sentences, the sentences as they are afterwards, and how much of the tape was used."""
    draws = Draws(case["tape"])
    lexicon = Lexicon(case["synonyms"])
    variants = [augment(words, lexicon, draws, alpha=case["alpha"]) for words in case["sentences"]]
    return {
        **{
            name: [list(variant[name]) for variant in variants]
            for name in ("replaced", "inserted", "swapped", "deleted")
        },
        "sentences": case["sentences"],
        "numbers_used": draws.used,
    }
