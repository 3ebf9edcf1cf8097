"""Inputs for `spacy_result_to_conll`: parsed sentences, token by token."""

import numpy as np

WORDS = (
    "The",
    "meatball",
    "parm",
    "was",
    "n't",
    "good",
    "waiters",
    "brought",
    "$",
    "12",
    "crème",
    "brûlée",
    "I",
    "think",
)
LONG = ("unpretentiousness", "www.meatball-parm.example", "well-intentioned", "disproportionately")
LEMMAS = (
    "the",
    "meatball",
    "parm",
    "be",
    "not",
    "good",
    "waiter",
    "bring",
    "$",
    "12",
    "crème",
    "brûlée",
    "-PRON-",
    "think",
)
COARSE = ("DET", "NOUN", "AUX", "PART", "ADJ", "VERB", "SYM", "NUM", "PRON", "PUNCT", "PROPN", "ADV")
FINE = ("DT", "NN", "VBD", "RB", "JJ", "NNS", "$", "CD", "PRP", ".", "NNP", "VBZ", "-LRB-", "PRP$")
RELATIONS = (
    "det",
    "compound",
    "nsubj",
    "neg",
    "acomp",
    "dobj",
    "nummod",
    "punct",
    "prep",
    "pobj",
    "npadvmod",
    "nsubjpass",
)


def _sentence(rng, length, *, words=WORDS, root=None):
    """A sentence with its parse: each token's head leads to the root, whose head is itself."""
    order = [int(position) for position in rng.permutation(length)]
    if root is not None:
        order.remove(root)
        order.insert(0, root)
    heads, relations = [0] * length, [""] * length
    for rank, position in enumerate(order):
        heads[position] = order[int(rng.integers(0, rank))] if rank else position
        relations[position] = str(rng.choice(RELATIONS)) if rank else "ROOT"
    columns = {"text": words, "lemma": LEMMAS, "coarse": COARSE, "fine": FINE}
    return {
        **{name: [str(value) for value in rng.choice(values, length)] for name, values in columns.items()},
        "head": heads,
        "relation": relations,
    }


def cases(seed):
    """Short and long sentences, one word, words longer than a column, one word repeated, the root first and last."""
    rng = np.random.default_rng([3101, seed])
    length = int(rng.integers(6, 12))
    return [
        _sentence(rng, int(rng.integers(3, 7))),
        _sentence(rng, length, root=0),
        _sentence(rng, length, root=length - 1),
        _sentence(rng, 1),
        _sentence(rng, int(rng.integers(4, 9)), words=LONG),
        _sentence(rng, int(rng.integers(4, 7)), words=("good",)),
        _sentence(rng, int(rng.integers(100, 120))),
    ]
