"""Language models small enough to travel with a test case."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TableModel:
    """Next-token logits from the last token (`bigram`) and the one before it (`skip`), both (vocabulary, vocabulary).

    They grow by a hundredth with each token: else the same steps in another order would have one score, up to rounding.
    """

    bigram: np.ndarray
    skip: np.ndarray

    def next_logits(self, tokens):
        """Return the logits, shape (vocabulary,), after `tokens`, a non-empty tuple of token ids."""
        logits = self.bigram[tokens[-1]]
        if len(tokens) > 1:
            logits = logits + self.skip[tokens[-2]]
        return logits * (1 + len(tokens) / 100)
