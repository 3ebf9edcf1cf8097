"""Inputs for `HierarchyTransformerLoss.forward`: triplets of points in a Poincaré ball, and the loss's options."""

import numpy as np


def _points(rng, rows, width, low, high):
    """Points whose Euclidean norm lies between these shares of the ball's radius, the root of the dimension."""
    directions = rng.standard_normal((rows, width))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return directions * np.sqrt(width) * rng.uniform(low, high, (rows, 1))


def _case(rng, rows, width, *, norms=((0.05, 0.9),) * 3, near=0.5, **options):
    """Anchors, positives and negatives; the share `near` of the positives lies close to their anchors."""
    anchor, positive, negative = (_points(rng, rows, width, *limits) for limits in norms)
    close = rng.random((rows, 1)) < near
    positive = np.where(close, anchor * rng.uniform(0.7, 1.05, (rows, 1)) + 0.02 * positive, positive)
    return {"anchor": anchor, "positive": positive, "negative": negative, "options": options}


def cases(seed):
    """Default, other and zero weights and margins, one triplet, satisfied triplets, points near centre and border."""
    rng = np.random.default_rng([201, seed])
    weights = {
        "clustering_loss_weight": float(rng.uniform(0.2, 0.8)),
        "centripetal_loss_weight": float(rng.uniform(1.5, 4.0)),
    }
    margins = {
        "clustering_loss_margin": float(rng.uniform(0.5, 3.0)),
        "centripetal_loss_margin": float(rng.uniform(0.05, 2.0)),
    }
    # Parents well inside, children outside of them, others on the far side: nothing is left to lose.
    child = _points(rng, 4, 5, 0.9, 0.95)
    satisfied = {
        "anchor": child,
        "positive": _points(rng, 4, 5, 0.2, 0.3),
        "negative": -child,
        "options": {"clustering_loss_margin": 0.1},
    }
    return [
        _case(rng, 8, int(rng.integers(4, 17))),
        _case(rng, 7, 6, **weights, **margins),
        _case(rng, 1, int(rng.integers(2, 5)), **margins),
        _case(rng, 6, 3, clustering_loss_weight=0.0, clustering_loss_margin=1.0),
        _case(rng, 6, 10, centripetal_loss_weight=0.0, centripetal_loss_margin=0.0),
        satisfied,
        _case(rng, 5, 8, norms=((0.9, 0.94), (0.001, 0.05), (0.85, 0.96)), near=0.0, clustering_loss_margin=9.0),
    ]
