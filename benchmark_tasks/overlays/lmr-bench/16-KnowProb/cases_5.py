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


def _case(rng, sizes, wanted, *, pool=None, recurring=0):
    """Rows for `sizes`, the number of each relation's; their objects come from `pool` objects, else all differ.

    A relation may have objects of others, and objects recur within it. An object has one first token in each relation,
    and others in other relations, as the model spells it there. No two objects begin alike. The first subject recurs in
    `recurring` more rows.
    """
    total = sum(sizes.values())
    names = _names(rng, total + (pool or total))
    subjects, objects = names[:total], names[total:]
    subjects[1 : 1 + recurring] = [subjects[0]] * recurring
    first_tokens = rng.permutation(VOCABULARY)[: len(sizes) * len(objects)].reshape(len(sizes), len(objects))
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
                "log_probas": np.log(rng.dirichlet(np.ones(VOCABULARY), size=3)).tolist(),
                "model_output_tokens_ids": [
                    int(first_tokens[list(sizes).index(str(relation)), number]),
                    *(int(n) for n in rng.integers(VOCABULARY, size=2)),
                ],
            }
        )
    return {"rows": rows, "wanted": wanted, "labels": [int(n) for n in rng.permutation(2 * total)[:total]]}


def cases(seed):
    """One and several counter objects, more than there are, shared and repeated names, relations with one object."""
    rng = np.random.default_rng([1605, seed])
    return [
        _case(rng, {"borders": 5, "speaks": 6, "owns": 4}, 3),
        _case(rng, {"works for": 7, "was born in": 6}, 1, pool=8),
        _case(rng, {"plays": 6, "likes": 3}, 2, pool=5),
        _case(rng, {"leads": 3, "founded": 4, "made": 2}, 10),
        _case(rng, {"sees": 1, "hears": int(rng.integers(3, 6)), "feels": 1}, 2),
        _case(rng, {"follows": 1}, 3),
        _case(rng, {"is in": int(rng.integers(5, 9))}, 4, recurring=2),
    ]
