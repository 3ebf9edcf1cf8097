"""Inputs for `greedy_match`: token vectors, token ids and a corpus for the weights."""

import numpy as np

VOCABULARY = 30


def _sentence(rng, length):
    return [int(token) for token in rng.integers(0, VOCABULARY, size=length)]


def _case(rng, *, candidate_lengths, reference_lengths, dimension, filler, offset=0.0, corpus_size=12):
    case = {"filler": filler, "corpus": [_sentence(rng, int(rng.integers(3, 10))) for _ in range(corpus_size)]}
    for side, lengths in (("candidate", candidate_lengths), ("reference", reference_lengths)):
        case[f"{side}_tokens"] = [_sentence(rng, length) for length in lengths]
        case[f"{side}_vectors"] = [rng.standard_normal((length, dimension)) + offset for length in lengths]
    return case


def cases(seed):
    """Ordinary batches, one-token sentences, empty sentences, zero weights, and opposite vectors."""
    rng = np.random.default_rng([202, seed])
    lengths = [int(n) for n in rng.integers(3, 9, size=8)]
    ordinary = _case(
        rng, candidate_lengths=lengths[:4], reference_lengths=lengths[4:], dimension=6, filler=7.5, offset=0.4
    )
    wide = _case(rng, candidate_lengths=[9, 4, 6], reference_lengths=[2, 5, 3], dimension=12, filler=-3.0)
    single = _case(rng, candidate_lengths=[1, 1, 5], reference_lengths=[1, 4, 1], dimension=3, filler=2.0)
    empty = _case(rng, candidate_lengths=[0, 4, 0, 3], reference_lengths=[5, 0, 0, 2], dimension=4, filler=5.0)
    # A token that is in every sentence of the corpus weighs log(1) = 0; a zero vector resembles nothing.
    weightless = _case(rng, candidate_lengths=[3, 4, 3], reference_lengths=[4, 3, 3], dimension=5, filler=1.0)
    weightless["corpus"] = [[0, *sentence] for sentence in weightless["corpus"]]
    weightless["candidate_tokens"][0] = [0, 0, 0]
    weightless["reference_tokens"][1] = [0, 0, 0]
    weightless["candidate_vectors"][2][1] = 0.0
    # Every similarity is negative: padding (similarity 0 or worse) must not win the maximum, and F1 has no usable mean.
    opposite = _case(rng, candidate_lengths=[2, 5], reference_lengths=[4, 3], dimension=4, filler=0.0)
    opposite["candidate_vectors"] = [np.abs(vectors) + 0.1 for vectors in opposite["candidate_vectors"]]
    opposite["reference_vectors"] = [-np.abs(vectors) - 0.1 for vectors in opposite["reference_vectors"]]
    return [ordinary, wide, single, empty, weightless, opposite]
