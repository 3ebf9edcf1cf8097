"""Inputs for `pair_loss`: scores of chosen and rejected answers."""

import numpy as np


def cases(seed):
    """One pair, many, a steep loss, no margin at all, and the default options."""
    rng = np.random.default_rng([1101, seed])

    def case(pairs, **options):
        return {"chosen": rng.standard_normal(pairs), "rejected": rng.standard_normal(pairs), "options": options}

    equal = case(3, beta=0.5)
    equal["rejected"] = equal["chosen"].copy()
    return [case(1), case(5), case(8, beta=float(rng.uniform(1, 3))), equal, case(4, seen=[]), case(2, seen=[1.0])]
