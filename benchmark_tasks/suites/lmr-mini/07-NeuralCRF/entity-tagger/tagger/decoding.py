"""Decoding: the best well-formed tag sequence."""

from dataclasses import dataclass

import numpy as np

from tagger.spans import spans_of


@dataclass(frozen=True)
class Decoding:
    """Names of the tags, one per token, the entity spans that they mark, and the score of the sequence."""

    tags: list
    spans: list
    score: float


def decode(emissions, parameters, scheme):
    """Find the highest-scoring tag sequence that the scheme allows.

    Args:
        emissions: array (tokens, tags), the encoder's score of each tag at each token; tokens may be 0.
        parameters: `FieldParameters` for the same tags.
        scheme: `TagScheme`; sequences that it does not allow are never returned, whatever their score.

    Returns:
        `Decoding` with tag names, spans from `spans_of`, and the score as a Python float (0.0 for an empty sentence).
    """
    # TODO: implement
    raise NotImplementedError
