"""Inputs for `contrastive_beam_search`: the tables of both models and the options."""

import numpy as np

END = 0


def _case(rng, *, vocabulary, beam_size, steps, sharpness=2.0, prompt=2, **options):
    shape = (vocabulary, vocabulary)
    return {
        "expert_bigram": sharpness * rng.standard_normal(shape),
        "expert_skip": rng.standard_normal(shape),
        "amateur_bigram": rng.standard_normal(shape),
        "amateur_skip": 0.5 * rng.standard_normal(shape),
        "prompt": [int(token) for token in rng.integers(1, vocabulary, size=prompt)],
        "end_token": END,
        "beam_size": beam_size,
        "max_new_tokens": steps,
        "options": options,
    }


def cases(seed):
    """Default options, narrow and wide beams, impossible tokens, exact ties, greedy search, early ends and no step at all."""
    rng = np.random.default_rng([303, seed])
    default = _case(rng, vocabulary=14, beam_size=2, steps=9)
    default["expert_bigram"][:, END] -= 4.0
    greedy = _case(rng, vocabulary=20, beam_size=1, steps=10, alpha=float(rng.uniform(0.02, 0.3)))
    greedy["expert_bigram"][:, END] -= 4.0
    wide = _case(rng, vocabulary=9, beam_size=5, steps=7, amateur_temperature=float(rng.uniform(0.5, 2.0)))
    ending = _case(rng, vocabulary=7, beam_size=4, steps=12, alpha=float(rng.uniform(0.02, 0.08)), prompt=1)
    ending["expert_bigram"][:, END] += 2.5
    ending["amateur_bigram"][:, END] -= 1.0
    impossible = _case(rng, vocabulary=8, beam_size=6, steps=5, alpha=0.001, amateur_temperature=1.5)
    impossible["expert_bigram"][rng.random((8, 8)) < 0.4] = -np.inf
    impossible["expert_bigram"][:, [1, 3]] = rng.standard_normal((8, 2))
    # Constant tables: every token is as plausible as any other and every score is exactly zero.
    tied = _case(rng, vocabulary=5, beam_size=4, steps=2, alpha=1.0)
    for name in ("expert_bigram", "expert_skip", "amateur_bigram", "amateur_skip"):
        tied[name] = np.zeros((5, 5))
    tied["end_token"] = int(rng.integers(0, 5))
    strict = _case(rng, vocabulary=11, beam_size=3, steps=6, alpha=1.0, amateur_temperature=0.7)
    none = _case(rng, vocabulary=4, beam_size=3, steps=0, alpha=0.5)
    return [default, greedy, wide, ending, impossible, tied, strict, none]
