"""Inputs for `compute_mean_cosine_similarity`: pairs of feature levels, and embeddings of their values."""

import numpy as np

FEATURES = ("age", "workclass", "education", "marital-status", "occupation", "sex", "hours-per-week", "native-country")
SYLLABLES = ("ba", "cor", "din", "el", "fus", "gar", "hi", "jo", "kel", "mun", "nar", "pel", "qui", "ros", "tem", "vo")


def _values(rng, number):
    values = {"".join(str(syllable) for syllable in rng.choice(SYLLABLES, 3)) for _ in range(3 * number)}
    # Some are of two words, and some begin with a space, as the ones in the census files do.
    forms = ("{}", " {}", "{} and more")
    return [str(rng.choice(forms)).format(value) for value in sorted(values)[:number]]


def _case(rng, number, *, closeness, repeated=0, shared=False):
    """`number` pairs, whose embeddings agree up to noise of `1 - closeness`; `repeated` of them were decrypted rightly.

    `shared`: the first two pairs, of different features, have the same original level, the last two the same decrypted.
    `levels` are the texts in the order of the pairs, each with the row of its embedding in `vectors`.
    """
    texts = _values(rng, 2 * number)
    vectors = rng.standard_normal((2 * number, 4)) * rng.uniform(0.2, 3.0, (2 * number, 1))
    vectors[1::2] = closeness * vectors[::2] + (1 - abs(closeness)) * vectors[1::2]
    rows = np.arange(2 * number)
    rows[1 : 2 * repeated : 2] = rows[0 : 2 * repeated : 2]
    if shared:
        rows[2], rows[-1] = rows[0], rows[-3]
    features = [str(feature) for feature in rng.choice(FEATURES, number, replace=not shared)]
    return {"features": features, "levels": [texts[row] for row in rows], "vectors": vectors[rows].astype(np.float32)}


def cases(seed):
    """Near, unrelated and opposite embeddings, one pair, many, levels that came back unchanged, and repeated levels."""
    rng = np.random.default_rng([1401, seed])
    return [
        _case(rng, int(rng.integers(3, 8)), closeness=0.6),
        _case(rng, 1, closeness=rng.uniform(0.2, 0.8)),
        _case(rng, int(rng.integers(2, 6)), closeness=0.0),
        _case(rng, int(rng.integers(2, 6)), closeness=-0.5),
        _case(rng, 5, closeness=0.3, repeated=2),
        _case(rng, int(rng.integers(4, 8)), closeness=0.5, shared=True),
        _case(rng, int(rng.integers(20, 40)), closeness=rng.uniform(0.1, 0.9)),
    ]
