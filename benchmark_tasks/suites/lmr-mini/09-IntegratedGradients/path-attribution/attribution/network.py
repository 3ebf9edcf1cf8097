"""A small classifier of embedded sentences with analytic gradients."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SentenceClassifier:
    """Gated pooling over tokens, one hidden layer, class probabilities.

    `gate` (size,), `hidden` (size, units), `bias` (units,), `output` (units, classes).
    """

    gate: np.ndarray
    hidden: np.ndarray
    bias: np.ndarray
    output: np.ndarray

    def _forward(self, embeddings):
        gates = 1.0 / (1.0 + np.exp(-(embeddings @ self.gate)))
        units = np.tanh((gates[:, None] * embeddings).sum(axis=0) @ self.hidden + self.bias)
        logits = units @ self.output
        exponentials = np.exp(logits - logits.max())
        return gates, units, exponentials / exponentials.sum()

    def probability(self, embeddings, target):
        """Return the probability of class `target` for a sentence of shape (tokens, size)."""
        return float(self._forward(embeddings)[2][target])

    def gradient(self, embeddings, target):
        """Return the gradient of that probability with respect to the embeddings, shape (tokens, size)."""
        gates, units, probabilities = self._forward(embeddings)
        at_logits = -probabilities[target] * probabilities
        at_logits[target] += probabilities[target]
        at_pooled = self.hidden @ ((self.output @ at_logits) * (1.0 - units**2))
        through_gate = gates * (1.0 - gates) * (embeddings @ at_pooled)
        return gates[:, None] * at_pooled + through_gate[:, None] * self.gate
