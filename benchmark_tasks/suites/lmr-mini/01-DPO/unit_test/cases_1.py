"""Inputs for `preference_objective`: token logits of both models, labels, and the options."""

import numpy as np

VOCABULARY = 11


def _labels(rng, pairs, tokens):
    labels = rng.integers(0, VOCABULARY, size=(pairs, tokens))
    for row in labels:
        prompt = int(rng.integers(1, 3))
        padding = int(rng.integers(0, 3))
        row[:prompt] = -100
        row[tokens - padding:] = -100
    return labels


def _case(rng, *, pairs, tokens, scale, beta, label_smoothing=0.0, reference_free=False):
    case = {"beta": beta, "label_smoothing": label_smoothing, "reference_free": reference_free}
    for side in ("chosen", "rejected"):
        case[f"{side}_labels"] = _labels(rng, pairs, tokens)
        for model in ("policy", "reference"):
            case[f"{model}_{side}_logits"] = scale * rng.standard_normal((pairs, tokens, VOCABULARY))
    return case


def cases(seed):
    """Plain, smoothed, reference-free, both options together, margins too large for a plain exponential, and ties."""
    rng = np.random.default_rng([101, seed])
    smoothing = float(rng.uniform(0.05, 0.4))
    extreme = _case(rng, pairs=3, tokens=8, scale=400.0, beta=5.0, label_smoothing=smoothing)
    tie = _case(rng, pairs=2, tokens=6, scale=1.0, beta=0.3)
    tie["rejected_labels"] = tie["chosen_labels"].copy()
    for model in ("policy", "reference"):
        tie[f"{model}_rejected_logits"] = tie[f"{model}_chosen_logits"].copy()
    return [
        _case(rng, pairs=int(rng.integers(4, 7)), tokens=9, scale=1.5, beta=float(rng.uniform(0.05, 0.5))),
        _case(rng, pairs=5, tokens=7, scale=1.0, beta=float(rng.uniform(0.1, 1.0)), label_smoothing=smoothing),
        _case(rng, pairs=4, tokens=8, scale=1.2, beta=float(rng.uniform(0.1, 1.0)), reference_free=True),
        _case(rng, pairs=1, tokens=6, scale=1.0, beta=0.7, label_smoothing=0.5 - smoothing, reference_free=True),
        extreme,
        tie,
    ]
