"""Inverse document frequencies with plus-one smoothing."""

import math
from collections import Counter


class IdfTable:
    """Weights of token ids, learnt from a list of reference sentences (lists of token ids)."""

    def __init__(self, references):
        self.documents = len(references)
        self.counts = Counter(token for sentence in references for token in set(sentence))

    def weights(self, sentence):
        """Return one weight per token of `sentence`: log((documents + 1) / (documents containing it + 1))."""
        return [math.log((self.documents + 1) / (self.counts[token] + 1)) for token in sentence]
