"""Inputs for `word_mover_score`: word pieces of both sides, their vectors in 12 layers, and idf weights."""

import numpy as np

LAYERS = 12
WORDS = ("meat", "ball", "river", "bank", "is", "the", "good")
# Single punctuation marks and continued word pieces do not count as words.
SKIPPED = (".", ",", "!", "##ing", "##s", "(", "##ly", "-")


def _tokens(rng, words, skipped):
    tokens = [str(rng.choice(WORDS)) for _ in range(words)] + [str(rng.choice(SKIPPED)) for _ in range(skipped)]
    return [tokens[number] for number in rng.permutation(len(tokens))]


def _sentences(rng, tokens, width, *, weights, directions):
    """A padded batch for lists of tokens; `weights` is "idf" or "equal"."""
    rows, longest = len(tokens), max(map(len, tokens))
    # Layers differ, so that it matters which are used and how. Some vectors of a sentence are close to some of another.
    base = directions[rng.integers(0, len(directions), (rows, longest))]
    embedding = base + 0.6 * rng.standard_normal((LAYERS, rows, longest, width))
    embedding *= rng.uniform(0.5, 4.0, (LAYERS, rows, longest, 1))
    idf = rng.uniform(0.3, 6.0, (rows, longest)) if weights == "idf" else np.ones((rows, longest))
    for row, sentence in enumerate(tokens):
        idf[row, len(sentence) :] = 0.0
    return {"embedding": embedding, "tokens": tokens, "idf": idf}


def _case(rng, ref_tokens, hyp_tokens, *, width=5, weights="idf"):
    directions = rng.standard_normal((5, width))
    return {
        "ref": _sentences(rng, ref_tokens, width, weights=weights, directions=directions),
        "hyp": _sentences(rng, hyp_tokens, width, weights=weights, directions=directions),
    }


def _batch(rng, rows):
    return [_tokens(rng, int(rng.integers(2, 6)), int(rng.integers(0, 4))) for _ in range(rows)]


def cases(seed):
    """Idf and equal weights, special tokens, single words, look-alikes of punctuation, one pair, a candidate's copy."""
    rng = np.random.default_rng([1101, seed])
    # [CLS] and [SEP] stand in every sentence, so that their idf weight is exactly zero.
    special = _case(rng, *([["[CLS]", *tokens, "[SEP]"] for tokens in _batch(rng, 2)] for _ in range(2)))
    for side in special.values():
        side["idf"][:, 0] = 0.0
        for row, tokens in enumerate(side["tokens"]):
            side["idf"][row, len(tokens) - 1] = 0.0
    copied = _case(rng, _batch(rng, 2), _batch(rng, 2))
    copied["hyp"] = {**copied["ref"], "embedding": 2.0 * copied["ref"]["embedding"]}
    return [
        _case(rng, _batch(rng, 4), _batch(rng, 4)),
        _case(rng, _batch(rng, 3), _batch(rng, 3), weights="equal"),
        special,
        _case(rng, [["cold"], ["the", "##s", "river"]], [["meat", "."], ["good"]]),
        _case(rng, [["...", "meat", "##", "bank", "."]], [["well-known", "-", "x##y", "!!", "cold", "'"]], width=9),
        _case(rng, [_tokens(rng, 9, 4)], [_tokens(rng, 3, 0)], width=16),
        copied,
    ]
