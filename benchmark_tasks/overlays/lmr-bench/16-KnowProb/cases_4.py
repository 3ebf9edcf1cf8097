"""Inputs for `return_entity_overlap_between_relation_groups`: rows of relation groups with subjects and objects."""

import numpy as np


def _case(rng, sizes, *, subjects, objects):
    """Rows for `sizes`, which gives each group its number; entities come from `subjects` and `objects` of them."""
    groups = rng.permutation([name for name, size in sizes.items() for _ in range(size)])
    return {
        "relation_group_id": [str(name) for name in groups],
        # Subjects and objects have the same names, and an entity that is a subject here and an object there is no
        # overlap.
        "statement_subject": [f"entity {number}" for number in rng.integers(subjects, size=len(groups))],
        "parametric_object": [f"entity {number}" for number in rng.integers(objects, size=len(groups))],
        # Objects of the knowledge base: what counts is the model's own object.
        "statement_object": [f"entity {number}" for number in rng.integers(objects, size=len(groups))],
        "labels": [int(label) for label in rng.permutation(2 * len(groups))[: len(groups)]],
    }


def _sizes(rng, names):
    return {name: int(rng.integers(4, 15)) for name in names}


def cases(seed):
    """Overlap by subject, by object and by both, repeated rows, groups of one row, two groups, subjects apart."""
    rng = np.random.default_rng([1604, seed])
    apart = _case(rng, _sizes(rng, ("here", "there")), subjects=5, objects=4)
    apart["statement_subject"] = [
        f"{name} {group}" for name, group in zip(apart["statement_subject"], apart["relation_group_id"], strict=True)
    ]
    return [
        _case(rng, _sizes(rng, ("geography", "biography", "art")), subjects=40, objects=30),
        _case(rng, _sizes(rng, ("d", "b", "a", "c")), subjects=12, objects=500),
        _case(rng, _sizes(rng, ("x", "z", "y")), subjects=500, objects=15),
        _case(rng, {"one": 1, "many": int(rng.integers(10, 20)), "few": 3}, subjects=14, objects=14),
        _case(rng, _sizes(rng, ("east", "west", "north")), subjects=4, objects=3),
        apart,
        _case(rng, _sizes(rng, tuple("pqrst")), subjects=50, objects=50),
    ]
