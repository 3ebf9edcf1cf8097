"""Inputs for `augment`: sentences, synonyms, and the tape of random numbers."""

import numpy as np

STOP = ["the", "a", "of", "in", "and", "is", "to"]
PLAIN = ["film", "story", "actor", "scene", "music", "plot", "end", "hero", "joke", "city"]
STEMS = ["good", "bad", "slow", "loud", "warm", "odd", "sharp", "dull", "brave", "late"]


def _lexicon(rng):
    """Synonyms are partly words that have synonyms themselves, so inserting them changes what can be drawn next."""
    table = {"the": ["this"], "is": ["was", "be"]}
    for stem in STEMS:
        others = [f"{stem}{ending}" for ending in ("ish", "er", "ly", "ful")]
        others.append(str(rng.choice([other for other in STEMS if other != stem])))
        table[stem] = [str(word) for word in rng.permutation(others)[: int(rng.integers(2, 6))]]
    return table


def _sentence(rng, length):
    pool = STOP + PLAIN + 2 * STEMS
    return [str(word) for word in rng.choice(pool, size=length)]


def _case(rng, sentences, alpha):
    return {
        "synonyms": _lexicon(rng),
        "sentences": sentences,
        "alpha": alpha,
        "tape": rng.random(200 * max(1, len(sentences))).tolist(),
    }


def cases(seed):
    """Ordinary and long sentences, repeated words, much deletion, nothing replaceable, one or two words, ties, no word."""
    rng = np.random.default_rng([808, seed])
    ordinary = _case(rng, [_sentence(rng, int(rng.integers(6, 12))) for _ in range(3)], 0.1)
    long = _case(rng, [_sentence(rng, 35)], float(rng.uniform(0.15, 0.35)))
    repeated = _case(rng, [[*_sentence(rng, 4), *(2 * [str(word) for word in rng.permutation(STEMS)[:4]])]], 0.4)
    ruthless = _case(rng, [_sentence(rng, 3) for _ in range(4)], 0.9)
    # Every word is deleted, so that the last resort is needed.
    emptied = _case(rng, [[str(word) for word in rng.permutation(STEMS)[:5]]], 0.6)
    emptied["tape"] = (0.6 * rng.random(200)).tolist()
    unreplaceable = _case(rng, [[str(word) for word in rng.permutation(STOP + PLAIN)[:8]]], 0.3)
    short = _case(rng, [[str(rng.choice(STEMS))], _sentence(rng, 2), [str(rng.choice(PLAIN))], _sentence(rng, 2)], 0.5)
    # A number that equals the probability does not delete.
    boundary = _case(rng, [_sentence(rng, 6)], float(rng.choice([0.25, 0.5, 0.75])))
    boundary["tape"] = [boundary["alpha"] if rng.random() < 0.5 else value for value in boundary["tape"]]
    no_word = _case(rng, [[]], 0.2)
    return [ordinary, long, repeated, ruthless, emptied, unreplaceable, short, boundary, no_word]
