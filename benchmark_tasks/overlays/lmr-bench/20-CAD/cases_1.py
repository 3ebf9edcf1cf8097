"""Inputs for `context_aware_sampling`: the weights of a small language model, and prompts."""

import numpy as np

END = 1
SILENT = 2  # a token whose embedding is zero: the model reads it as if it were not there
CLOCK = 40.0  # tokens that say something, until the first unit of a state is 1
PULL = 600.0  # how strongly this unit speaks for the end


def _case(rng, *, context=1, question=4, width=6, vocabulary=24, steps):
    """A context of one token that says something and more that do not, a question, and a model's weights.

    The instruction lets answers ignore all options, so every case leaves them at their defaults. The model counts
    tokens and ends by itself a few tokens after `steps`, long before `max_length`.
    """
    embedding = 0.7 * rng.standard_normal((vocabulary, width))
    embedding[:, 0] = 1.0 / CLOCK
    embedding[SILENT] = 0.0
    head = 3.0 * rng.standard_normal((width, vocabulary))
    head[0] = np.where(np.arange(vocabulary) == END, PULL, 0.0)
    bias = np.zeros(vocabulary)
    bias[SILENT] = -1000.0  # no answer holds it: the model would not count it
    bias[END] = -PULL * np.tanh((1 + question + steps) / CLOCK)
    tokens = rng.integers(SILENT + 1, vocabulary, size=1 + question)
    return {
        "embedding": embedding,
        "bigram": 0.5 * rng.standard_normal((vocabulary, vocabulary)),
        "head": head,
        "bias": bias,
        "end": END,
        # The reference implementation leaves out one token where the paper leaves out the context: both must agree.
        "context": [int(tokens[0]), *[SILENT] * (context - 1)],
        "question": [int(token) for token in tokens[1:]],
    }


def cases(seed):
    """Short and long answers, longer contexts, one-token questions, few and many tokens, an end at once."""
    rng = np.random.default_rng([2001, seed])
    return [
        _case(rng, steps=int(rng.integers(7, 12))),
        _case(rng, context=4, steps=int(rng.integers(6, 12))),
        _case(rng, question=1, steps=8),
        _case(rng, context=3, question=7, width=4, steps=7),
        _case(rng, vocabulary=9, steps=2),
        _case(rng, vocabulary=8, steps=-30),
        _case(rng, context=2, vocabulary=7, steps=12),
        _case(rng, width=5, steps=10),
        _case(rng, context=5, question=3, vocabulary=40, steps=25),
    ]
