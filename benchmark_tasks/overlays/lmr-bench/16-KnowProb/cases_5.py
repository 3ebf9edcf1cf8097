"""Inputs for `generate_counter_parametric_knowledge_dataset`: parametric knowledge of several relations."""

import numpy as np

SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "ze")
VOCABULARY = 60


def _names(rng, count):
    found = []
    while len(found) < count:
        name = "".join(rng.choice(SYLLABLES, size=3))
        if name not in found:
            found.append(name)
    return found


def _case(rng, sizes, wanted, *, pool=None):
    """Rows for `sizes`, the number of each relation's; their objects come from `pool` objects, else all differ.

    An object's first token is the same wherever it occurs, and no two objects begin alike. A relation may have objects
    of others, and objects recur within it.
    """
    total = sum(sizes.values())
    names = _names(rng, total + (pool or total))
    subjects, objects = names[:total], names[total:]
    first_tokens = rng.permutation(VOCABULARY)[: len(objects)]
    chosen = rng.integers(pool, size=total) if pool else rng.permutation(total)
    relations = rng.permutation([relation for relation, size in sizes.items() for _ in range(size)])
    rows = []
    for subject, relation, number in zip(subjects, relations, chosen, strict=True):
        truth = str(rng.choice(objects)).capitalize()
        rows.append(
            {
                "statement_subject": subject.capitalize(),
                "rel_lemma": str(relation),
                "statement_object": truth,
                "relation_group_id": f"group of {str(relation)[0]}",
                "parametric_object": objects[number],
                "statement": f"{subject.capitalize()} {relation} {rng.choice([truth, truth.lower()])}.",
                "log_probability_parametric_object_first_token": np.log(rng.dirichlet(np.ones(VOCABULARY))).tolist(),
                "model_output_tokens_ids": [int(first_tokens[number]), *(int(n) for n in rng.integers(60, size=2))],
            }
        )
    return {"rows": rows, "wanted": wanted, "labels": [int(n) for n in rng.integers(total, size=total)]}


def cases(seed):
    """One and several counter objects, more than there are, shared and repeated objects, relations with one object."""
    rng = np.random.default_rng([1605, seed])
    return [
        _case(rng, {"borders": 5, "speaks": 6, "owns": 4}, 3),
        _case(rng, {"works for": 7, "was born in": 6}, 1, pool=8),
        _case(rng, {"plays": 6, "likes": 3}, 2, pool=5),
        _case(rng, {"leads": 3, "founded": 4, "made": 2}, 10),
        _case(rng, {"sees": 1, "hears": int(rng.integers(3, 6)), "feels": 1}, 2),
        _case(rng, {"follows": 1}, 3),
        _case(rng, {"is in": int(rng.integers(5, 9))}, 4),
    ]
