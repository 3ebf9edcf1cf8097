"""Inputs for `greedy_cos_idf`: token embeddings, masks and idf weights of references and candidates."""

import numpy as np


def _sentences(rng, lengths, width, *, weights):
    """Embeddings, masks and weights of a padded batch; `weights` is "idf" or "equal"."""
    rows, longest = len(lengths), max(lengths)
    masks = (np.arange(longest) < np.array(lengths)[:, None]).astype(np.int64)
    # A direction that all tokens share makes every similarity positive, as BERT's are.
    embedding = rng.standard_normal((rows, longest, width)) * rng.uniform(0.5, 3.0, (rows, longest, 1))
    embedding += 1.5 * np.linalg.norm(embedding, axis=-1, keepdims=True) / np.sqrt(width)
    idf = rng.uniform(0.2, 8.0, masks.shape) if weights == "idf" else np.ones(masks.shape)
    # The first and the last token are [CLS] and [SEP], to which the repository gives no weight.
    idf[:, 0] = 0.0
    idf[np.arange(rows), np.array(lengths) - 1] = 0.0
    return {"embedding": embedding, "masks": masks, "idf": idf * masks}


def _tempt(sentences, others):
    # Padding holds copies of the other sentences' tokens: without the masks it would be the best match.
    for row, mask in enumerate(sentences["masks"]):
        for position in np.flatnonzero(mask == 0):
            sentences["embedding"][row, position] = 2.0 * others["embedding"][row, 1 + position % 2]


def _case(rng, ref_lengths, hyp_lengths, *, width=6, weights="idf"):
    ref = _sentences(rng, ref_lengths, width, weights=weights)
    hyp = _sentences(rng, hyp_lengths, width, weights=weights)
    _tempt(ref, hyp)
    _tempt(hyp, ref)
    return {"ref": ref, "hyp": hyp}


def _lengths(rng, rows):
    return [int(length) for length in rng.integers(4, 10, rows)]


def cases(seed):
    """Idf and equal weights, one pair alone, one word each, a copy of the reference, and sentences without words."""
    rng = np.random.default_rng([701, seed])
    copied = _case(rng, [6, 6], [6, 6])
    copied["hyp"]["embedding"] = 3.0 * copied["ref"]["embedding"]
    # Nothing but the two special tokens, whose weights are zero: the score is 0, as the repository says.
    empty = _case(rng, [5, 7, 6], [6, 2, 2])
    return [
        _case(rng, _lengths(rng, 4), _lengths(rng, 4)),
        _case(rng, _lengths(rng, 3), _lengths(rng, 3), weights="equal"),
        _case(rng, _lengths(rng, 1), _lengths(rng, 1), width=12),
        _case(rng, [3, 3], [3, 8]),
        _case(rng, [9, 4, 3], [3, 9, 3], width=3),
        copied,
        empty,
    ]
