"""Inputs for `BERTModelModule.compute_loss_and_scores`: batches of images and tokens, and the model's options."""

import numpy as np

VOCABULARY = 20


def _tokens(rng, batch, length):
    """Token ids with padding at the end of all rows but the longest."""
    used = np.append(rng.integers(1, length + 1, size=batch - 1), length)
    return {
        "input_ids": rng.integers(1, VOCABULARY, size=(batch, length)),
        "attention_mask": (np.arange(length) < used[:, None]).astype(np.int64),
    }


def _case(rng, *, batch, labels, weight, head=True, premises="given", length=None, whole_labels=False):
    """A batch. Without head, the weight is 0, and without premises 1: whether the only loss is weighted is open."""
    given = premises == "given"
    both = head and given
    return {
        "images": rng.standard_normal((batch, 3, 2, 2)),
        "premises": _tokens(rng, batch, length or int(rng.integers(3, 8))) if given else premises,
        "updates": _tokens(rng, batch, length or int(rng.integers(3, 8))),
        "update_types": np.array(labels) if whole_labels else np.array(labels, dtype=np.float64),
        "use_classification_head": head,
        "weight": weight,
        # What the model has where an answer is passed the weight: it must not take this one.
        "other_weight": 1.0 - weight if both else weight,
        "has_loss": head or given,
        "model_seed": int(rng.integers(2**31)),
    }


def _labels(rng, batch):
    return [int(label) for label in rng.permutation([1, -1, *rng.choice([-1, 1], size=batch - 2)])]


def cases(seed):
    """Both losses at several weights, whole and equal labels, one token alone, and without head, premises or both."""
    rng = np.random.default_rng([2401, seed])
    weights = [float(weight) for weight in rng.uniform(0.1, 0.9, size=4)]
    larger = int(rng.integers(4, 8))
    return [
        _case(rng, batch=larger, labels=_labels(rng, larger), weight=0.9),
        _case(rng, batch=3, labels=_labels(rng, 3), weight=weights[0]),
        _case(rng, batch=5, labels=_labels(rng, 5), weight=weights[1], whole_labels=True),
        _case(rng, batch=3, labels=[-1, -1, -1], weight=weights[2]),
        _case(rng, batch=1, labels=[1], weight=weights[3], length=1),
        _case(rng, batch=4, labels=_labels(rng, 4), weight=0.0, head=False),
        _case(rng, batch=4, labels=_labels(rng, 4), weight=1.0, premises="empty"),
        _case(rng, batch=3, labels=_labels(rng, 3), weight=1.0, premises="none"),
        _case(rng, batch=2, labels=_labels(rng, 2), weight=0.5, head=False, premises="empty"),
    ]
