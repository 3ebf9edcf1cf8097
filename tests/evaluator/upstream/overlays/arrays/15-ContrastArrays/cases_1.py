"""Inputs for `contrast`: scores of an expert and an amateur."""

import numpy as np


def cases(seed):
    """Scores of two to nine tokens at the default `alpha` and at others, and an amateur that is sure."""
    rng = np.random.default_rng([1501, seed])

    def case(tokens, **options):
        return {"expert": 2 * rng.standard_normal(tokens), "amateur": rng.standard_normal(tokens), "options": options}

    sure = case(4, alpha=0.01)
    sure["amateur"][1] = 30.0
    return [case(2), case(9), case(6, alpha=0.5), case(7, alpha=0.02), sure, case(1)]
