"""Inputs for `focal_loss.forward`: logits and labels of event pairs, and the loss's options."""

import numpy as np


def _case(rng, rows, *, spread=2.5, **options):
    """Logits and labels for a number of event pairs; classes without a given number are three, as by default."""
    classes = options.get("num_classes", 3)
    return {
        "preds": rng.uniform(-spread, spread, (rows, classes)),
        "labels": rng.integers(0, classes, rows),
        "options": options,
    }


def _weights(rng, classes):
    return [float(weight) for weight in rng.uniform(0.1, 2.0, classes)]


def cases(seed):
    """Defaults, mean and sum, one or several class weights, no focusing, one pair, very certain predictions."""
    rng = np.random.default_rng([3001, seed])
    one_weight = float(rng.uniform(0.55, 0.95))
    rows = int(rng.integers(5, 12))
    binary = {"alpha": 0.75, "gamma": 2, "num_classes": 2}
    return [
        _case(rng, rows),
        _case(rng, rows, **binary),
        _case(rng, rows + 1, **binary, size_average=False),
        _case(rng, 8, alpha=one_weight, gamma=int(rng.integers(3, 6)), num_classes=5, size_average=False),
        _case(rng, 9, alpha=_weights(rng, 4), gamma=1, num_classes=4),
        _case(rng, 7, alpha=[0.0, *_weights(rng, 2)], gamma=float(rng.uniform(1.2, 3.5)), size_average=False),
        _case(rng, 6, alpha=one_weight, gamma=0, num_classes=2),
        _case(rng, 1, alpha=one_weight, num_classes=2),
        # So sure that a small number added within the logarithm would show, but no probability becomes zero.
        _case(rng, 10, spread=25.0, **binary),
        # Many probabilities become zero in float32; their logarithms stay finite if they come from the logits.
        _case(rng, 12, spread=300.0, **binary),
    ]
