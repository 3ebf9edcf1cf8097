"""Inputs for `perform_classification_by_relation_group`: labelled rows in relation groups, and their activations."""

import numpy as np

POSITIONS = ("object", "subject_query", "relation_query")
WIDTHS = {"mhsa": 3, "mlp": 3, "mlp-l1": 4}


def _activations(rng, signs, layers, width):
    # Two clusters with room between them, so that no prediction hangs by a rounding error. How often a row lies in the
    # cluster of its own label differs from layer to layer and from feature to feature.
    agreement = rng.uniform(0.4, 0.95, size=(layers, width))
    agrees = rng.random((len(signs), layers, width)) < agreement
    values = np.where(agrees, 1.0, -1.0) * signs[:, None, None] * rng.uniform(1.0, 2.0, size=(layers, width))
    return values + 0.15 * rng.standard_normal(values.shape)


def _decisive_activations(rng, signs, layers, width):
    """One feature of each layer decides, whichever balanced part of the rows a classifier is trained on."""
    agrees = rng.random((len(signs), layers, 1)) < rng.uniform(0.85, 0.97, size=(layers, 1))
    values = np.where(agrees, 1.0, -1.0) * signs[:, None, None] * rng.choice([2.0, -2.0], size=(layers, 1))
    decides = np.arange(width) == rng.integers(width, size=(layers, 1))
    return np.where(decides, values, 0.0) + 0.05 * rng.standard_normal((len(signs), layers, width))


def _case(rng, counts, *, modules, position="", layers=2):
    """Rows for `counts`, which gives each group its numbers of CK and PK; all positions at once without a position.

    Whether training rows are balanced together or group by group is open. This is the same with one other group. With
    several it is the same number of rows if one source is the rarer in each, and then the features decide alone.
    """
    activations = _activations if len(counts) == 2 else _decisive_activations
    rows = [
        (group, source)
        for group, pair in counts.items()
        for source, n in zip(("CK", "PK"), pair, strict=True)
        for _ in range(n)
    ]
    order = rng.permutation(len(rows))
    rows = [rows[number] for number in order]
    signs = np.array([1.0 if source == "PK" else -1.0 for _, source in rows])
    return {
        "relation_group_id": [group for group, _ in rows],
        "knowledge_source": [source for _, source in rows],
        "activations": {
            module: {name: activations(rng, signs, layers, width) for name in POSITIONS}
            for module, width in WIDTHS.items()
        },
        "include_mhsa": "mhsa" in modules,
        "include_mlps": "mlp" in modules,
        "include_mlps_l1": "mlp-l1" in modules,
        "vertical": bool(position),
        "position": position,
        "labels": [int(label) for label in rng.permutation(len(rows) * 2)[: len(rows)]],
    }


def _counts(rng, names):
    # Unbalanced on purpose: mostly context knowledge in some groups, mostly parametric knowledge in others.
    return {name: (int(rng.integers(7, 20)), int(rng.integers(7, 20))) for name in names}


def _counts_with_rarer(rng, names, *, rarer):
    """Groups in each of which one source is the `rarer`, as parametric knowledge is in the paper."""
    pairs = [(int(rng.integers(18, 28)), int(rng.integers(12, 17))) for _ in names]
    return {name: pair if rarer == "PK" else pair[::-1] for name, pair in zip(names, pairs, strict=True)}


def cases(seed):
    """Each module and position alone, two modules together, all positions, a group with a single source, two groups."""
    rng = np.random.default_rng([1601, seed])
    three = _counts_with_rarer(rng, ("geography", "biography", "art"), rarer="PK")
    four = _counts_with_rarer(rng, ("b", "a", "c", "d"), rarer="CK")
    one_source = {
        **_counts_with_rarer(rng, ("people", "places"), rarer="PK"),
        "languages": (int(rng.integers(5, 9)), 0),
    }
    return [
        _case(rng, three, modules=("mlp",), position="object"),
        _case(rng, four, modules=("mhsa",), position="subject_query", layers=1),
        _case(rng, _counts(rng, ("east", "west")), modules=("mlp-l1",), position="relation_query", layers=3),
        _case(rng, _counts(rng, ("x", "y")), modules=("mhsa", "mlp"), position="relation_query"),
        _case(rng, _counts(rng, ("red", "green")), modules=("mlp",)),
        _case(rng, one_source, modules=("mhsa",), position="object"),
        _case(rng, {"large": (30, 9), "small": (2, 3)}, modules=("mlp-l1",), position="subject_query", layers=1),
    ]
