"""Integrated gradients with one or several baselines."""

import numpy as np

from attribution.quadrature import rule
from attribution.result import Explanation


def integrated_gradients(network, embeddings, baselines, target, *, steps=16, quadrature="midpoint"):
    """Attribute a class probability to the embedding channels of a sentence.

    Args:
        network: object with `probability(embeddings, target)` and `gradient(embeddings, target)`.
        embeddings: array (tokens, size), the sentence to explain.
        baselines: array (baselines, tokens, size), at least one.
        target: index of the class.
        steps: number of quadrature nodes on each path, at least 1.
        quadrature: name of the rule, see `attribution.quadrature.rule`.

    Returns:
        `Explanation`, averaged over the baselines; all float64, `gap` a Python float.
    """
    # TODO: implement
    raise NotImplementedError


def most_important(explanation, count):
    """Return the indices of the `count` tokens with the largest absolute score, largest first."""
    return np.argsort(-np.abs(explanation.token_scores), kind="stable")[:count].tolist()
