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
    nodes, weights = rule(quadrature, steps)
    values = np.zeros_like(embeddings)
    for baseline in baselines:
        difference = embeddings - baseline
        slopes = [network.gradient(baseline + node * difference, target) for node in nodes]
        values += difference * np.tensordot(weights, slopes, axes=1)
    values = values / len(baselines)

    expected = np.mean([network.probability(baseline, target) for baseline in baselines])
    gap = float(values.sum() - (network.probability(embeddings, target) - expected))
    token_totals = values.sum(axis=1)
    largest = np.abs(token_totals).max()
    token_scores = token_totals / largest if largest > 0 else token_totals
    return Explanation(values, token_scores, gap)


def most_important(explanation, count):
    """Return the indices of the `count` tokens with the largest absolute score, largest first."""
    return np.argsort(-np.abs(explanation.token_scores), kind="stable")[:count].tolist()
