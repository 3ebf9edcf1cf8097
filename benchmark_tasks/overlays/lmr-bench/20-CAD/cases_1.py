"""Inputs for `context_aware_sampling`: the weights of a small language model, prompts, and options."""

import numpy as np

END = 1
SILENT = 2  # a token whose embedding is zero: the model reads it as if it were not there


def _case(rng, *, context=1, question=4, width=6, vocabulary=24, end_weight=-30.0, **options):
    """A context of one token that says something and more that do not, a question, and a model's weights."""
    embedding = 0.7 * rng.standard_normal((vocabulary, width))
    embedding[SILENT] = 0.0
    bias = np.zeros(vocabulary)
    bias[END] = end_weight
    tokens = rng.integers(SILENT + 1, vocabulary, size=1 + question)
    return {
        "embedding": embedding,
        "bigram": 0.5 * rng.standard_normal((vocabulary, vocabulary)),
        "head": 3.0 * rng.standard_normal((width, vocabulary)),
        "bias": bias,
        "end": END,
        # The reference implementation leaves out one token where the paper leaves out the context: both must agree.
        "context": [int(tokens[0]), *[SILENT] * (context - 1)],
        "question": [int(token) for token in tokens[1:]],
        "options": options,
    }


def cases(seed):
    """Default options, weak to strong contrast, no contrast, longer contexts, one-token questions, ends, few steps."""
    rng = np.random.default_rng([2001, seed])
    return [
        _case(rng, max_length=int(rng.integers(9, 14))),
        _case(rng, context=4, alpha=0.5, max_length=int(rng.integers(8, 14)), temperature=1e-28),
        _case(rng, question=1, alpha=float(rng.uniform(1.0, 2.0)), max_length=10),
        _case(rng, context=3, question=7, width=3, alpha=0.0, max_length=9),
        _case(rng, vocabulary=9, alpha=float(rng.uniform(0.2, 0.6)), max_length=1),
        _case(rng, vocabulary=8, end_weight=5.0, alpha=0.5, max_length=30),
        _case(rng, context=2, vocabulary=7, end_weight=5.0, max_length=30, temperature=1e-28),
        _case(rng, width=4, alpha=float(rng.uniform(0.2, 0.9)), max_length=12),
        _case(rng, context=5, question=3, vocabulary=40, end_weight=-60.0),
    ]
